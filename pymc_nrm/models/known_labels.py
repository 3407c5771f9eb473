"""Labels of which all are known: the variable is observed, and not sampled."""

import logging

import numpy as np

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


def check_observed_labels(kind, name, labels):
    """Refuse labels of ``pm.observe`` in another form than the canonical one, whose probability is 0 without a reason.

    The deterministics of a partition read the labels as they are.
    """
    title = f"observed labels of {kind.title} {name!r}"
    if not np.array_equal(kind.renamed(labels, len(labels), title), labels):
        raise ValueError(f"{title} must be {kind.words_of_labels}; got {np.asarray(labels)[:8].tolist()}")
