"""Labels of which all are known: the variable is observed, and not sampled."""

import logging

from pymc_nrm.common.wrapping import wrapped

# A child of PyMC's logger, which shows messages of level INFO.
_log = logging.getLogger("pymc.nrm_models")


def tell_all_known(title, labels, what="cluster"):
    """Say that a variable is observed since all of its labels, in order of appearance, are known."""
    n_clusters = int(labels.max()) + 1
    text = (
        f"All {len(labels):,} labels of {title} are known, {n_clusters:,} {what}{'s' * (n_clusters > 1)}: it is "
        "observed, and not sampled."
    )
    _log.info(wrapped(text))
