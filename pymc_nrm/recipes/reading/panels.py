"""Tables with several rows for each person, country or other unit, which a column names."""

from pymc_nrm.recipes.messages import tell_user
from pymc_nrm.recipes.reading.kinds import CATEGORICAL, SKIP
from pymc_nrm.recipes.reading.rules import MOST_LEVELS, is_identifier


def tell_of_units(log, readings, n, determining):
    """Say how rows of a unit are kept together, if a column names units that have two rows or more on average.

    Columns name units by what they are called, or if they have many levels, each with one value of another column.
    """
    for reading in readings:
        n_units = reading.different
        if reading.missing or not MOST_LEVELS < n_units <= n / 2 or reading.kind not in (CATEGORICAL, SKIP):
            continue
        if is_identifier(reading.name) or reading.name in determining:
            tell_user(
                log,
                f"{reading.name!r} has {n_units} values for {n} rows: together=df[{reading.name!r}] keeps rows of one "
                "value in one cluster, which measurements of one person should share",
            )
            return
