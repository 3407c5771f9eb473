"""Tables with one row for each visit, from tables whose subjects are in the index or whose times are columns."""

import re

from pymc_nrm.common.wrapping import first_few
from pymc_nrm.growth.recipes.trajectory_table import tell

# A name and a number, as in "y0", "score_3" or "week 12".
_NUMBERED = re.compile(r"(.*?)[ _.-]?(\d+)$")


def long_table(df, subject, time, target):
    """A table whose columns are the subject, the time and the target, with one row for each visit.

    Names of levels of the index become columns.  If there is neither the time nor the target, and columns share a name
    and a number, these are rows.
    """
    levels = [name for name in df.index.names if name in (subject, time, target) and name not in df.columns]
    if levels:
        df = df.reset_index(levels)
    if time in df.columns or target in df.columns:
        return df
    stems = {}
    for name in df.columns:
        match = _NUMBERED.match(str(name))
        if match and match.group(1):
            stems.setdefault(match.group(1), {})[name] = int(match.group(2))
    stems = {stem: columns for stem, columns in stems.items() if len(set(columns.values())) == len(columns) > 1}
    chosen = str(target) if str(target) in stems else next(iter(stems), None) if len(stems) == 1 else None
    if chosen is None:
        names = first_few(list(map(repr, df.columns)))
        raise ValueError(
            f"df must have a row for each visit, with the columns time={time!r} and target={target!r}; got {names}. "
            "df.melt makes rows of columns"
        )
    columns = stems[chosen]
    others = [name for name in df.columns if name not in columns]
    shown = first_few([str(name) for name in columns], 3)
    tell(f"Columns {shown} are rows now: {time!r} is the number in their names, {target!r} what they hold.")
    rows = df.melt(others, list(columns), time, target)
    return rows.assign(**{time: rows[time].map(columns).astype("float64")})
