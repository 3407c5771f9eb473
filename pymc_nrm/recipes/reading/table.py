"""A table as it was read: the kind of each column, in a table that can be edited and in one block of the log."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from pymc_nrm.common.tables import as_pandas
from pymc_nrm.common.wrapping import WIDTH, cut
from pymc_nrm.recipes.columns import check_columns
from pymc_nrm.recipes.messages import warn_user
from pymc_nrm.recipes.reading.kinds import CATEGORICAL, KINDS, NUMERIC, SKIP, ColumnReading, allowed_numbers
from pymc_nrm.recipes.reading.rules import Proposal, default_kind, facts_of, looks_measured
from pymc_nrm_predictor.reading.column_contents import read_content, read_contents
from pymc_nrm_predictor.reading.content import DATES, LEVELS, NUMBERS, OTHER, Rule, described_losses

# Names of columns in the log have at most so many characters; a block has at most so many columns.
_NAME_WIDTH, _MOST_LINES = 24, 40


def column_kinds(df: Any, kinds: Mapping[Any, str] | pd.DataFrame | None = None) -> pd.DataFrame:
    """Kinds that :func:`~pymc_nrm.mixture_model` gives to the columns of a table, and why.

    Parameters
    ----------
    df : DataFrame
        Of pandas, or a table of another library that pandas converts, such as polars or pyarrow.
    kinds : mapping of {hashable : str} or DataFrame, optional
        Kinds that are known, as for :func:`~pymc_nrm.mixture_model`.

    Returns
    -------
    DataFrame
        One row for each column, whose name is the index ``column``, with ``kind``, ``why`` in words, the number of
        ``different`` values, the number of ``missing`` ones, and an ``example``.  Change kinds in it, and give it to
        ``mixture_model`` as ``kinds``; the other columns are for reading.

    Raises
    ------
    TypeError
        If ``df`` is not a table, or a column does not hold what its kind in ``kinds`` needs.
    ValueError
        If ``kinds`` has an unknown kind or column, or a column does not allow its kind there.

    Examples
    --------
    >>> import pandas as pd
    >>> import pymc_nrm as nrm
    >>> df = pd.DataFrame({
    ...     "id": [11, 12, 13, 14, 15, 16, 17, 18],
    ...     "weight": ["3.1", "2.9", "?", "5.5", "5.2", "5.0", "3.3", "2.7"],
    ...     "rating": [1, 2, 2, 1, 2, 1, 1, 2],
    ... })
    >>> kinds = nrm.recipes.column_kinds(df)
    >>> kinds["why"].tolist()
    ['numbers the rows', "numbers in text; became missing: '?' (1 row); measurements", 'few different numbers']
    >>> kinds["kind"].tolist()
    ['skip', 'numeric', 'categorical']
    >>> kinds.loc["rating", "kind"] = "numeric"
    >>> [rv.name for rv in nrm.mixture_model(df, kinds=kinds).observed_RVs]
    ['numeric']
    """
    readings = read_columns(as_pandas("df", df), kinds)
    return pd.DataFrame(
        {
            "kind": [reading.kind for reading in readings],
            "why": [reading.why for reading in readings],
            "different": [reading.different for reading in readings],
            "missing": [reading.missing for reading in readings],
            "example": [reading.example for reading in readings],
        },
        index=pd.Index([reading.name for reading in readings], name="column", tupleize_cols=False),
    )


def read_table(df, kinds=None, strict=False):
    """Read the columns of a table of which a model is made; one at least must be usable."""
    readings = read_columns(df, kinds)
    doubtful = [reading for reading in readings if reading.doubtful]
    if strict and doubtful:
        described = [f"{reading.name!r} ({reading.why}; {reading.kind!r} by default)" for reading in doubtful]
        example = ", ".join(f"{reading.name!r}: ..." for reading in doubtful[:3])
        raise ValueError(
            f"strict=True needs an entry of kinds for columns whose kind is doubtful: {'; '.join(described)}. Give "
            f"kinds={{{example}}}: one of {', '.join(map(repr, (*KINDS, SKIP)))}"
        )
    if all(reading.kind == SKIP for reading in readings):
        described = [f"{reading.name!r} ({reading.why})" for reading in readings]
        usable = [reading.name for reading in readings if reading.different > 1]
        remedy = f". Give the kind of a column, such as kinds={{{usable[0]!r}: 'numeric'}}" if usable else ""
        raise ValueError(
            f"df must have a column with information on clusters; all were left out: {'; '.join(described)}{remedy}"
        )
    return readings


def numeric_columns(argument, X):
    """Columns of a DataFrame of numbers as floats, and their readings."""
    readings = read_columns(X, dict.fromkeys(X.columns, NUMERIC), argument)
    for reading in readings:
        if reading.lost:
            raise TypeError(
                f"column {reading.name!r} must hold finite numbers or be missing; got "
                f"{described_losses(reading.lost)}. Make such entries missing, or leave out their rows; mixture_model "
                "takes them as missing"
            )
    values = pd.DataFrame({r.name: r.values(X[r.name]) for r in readings}, index=X.index)
    return values, readings


def read_columns(df, kinds=None, argument="df"):
    """Read all columns of a table, those left out as well."""
    check_columns(df, argument)
    given = _given_kinds(df, kinds)
    contents = read_contents(df)
    return [_read_column(name, df.iloc[:, k], given.get(name), contents[k]) for k, name in enumerate(df.columns)]


def as_mapping(kinds):
    """Kinds by names of columns, from a mapping or the DataFrame of :func:`column_kinds`."""
    if isinstance(kinds, pd.DataFrame):
        if "column" in kinds.columns:
            kinds = kinds.set_index("column")
        if "kind" not in kinds.columns:
            raise ValueError(f"kinds must have the column 'kind' if it is a DataFrame; got {kinds.columns.tolist()}")
        kinds = kinds["kind"].to_dict()
    if not isinstance(kinds, Mapping):
        got = type(kinds).__name__
        raise TypeError(f"kinds must be a mapping from columns to kinds, or the DataFrame of column_kinds; got {got}")
    return dict(kinds)


def _given_kinds(df, kinds):
    if kinds is None:
        return {}
    kinds = as_mapping(kinds)
    names = df.columns.tolist()
    unknown = [name for name in kinds if name not in names]
    if unknown:
        raise ValueError(f"kinds must be of columns of df, {names}; got {unknown}")
    for name, kind in kinds.items():
        if kind not in (*KINDS, SKIP):
            raise ValueError(f"kinds[{name!r}] must be one of {', '.join(map(repr, (*KINDS, SKIP)))}; got {kind!r}")
    return kinds


def _read_column(name, column, kind, content):
    proposal = default_kind(facts_of(name, content))
    if kind is not None and kind != proposal.kind:
        content = _read_as(name, column, content, kind)
        proposal = Proposal(kind, "as kinds says")
    elif kind is not None:
        proposal = proposal._replace(doubtful=False)
    if proposal.kind == CATEGORICAL and content.form == DATES:
        # Levels are dates as they are written.
        content = read_content(column, Rule(LEVELS))
    facts = facts_of(name, content)
    if kind not in (None, SKIP) and len(facts.different) < 2:
        what = "has no values" if facts.n == 0 else "has only one value"
        raise ValueError(
            f"column {name!r} {what}, without information on clusters. Leave it out: kinds={{{name!r}: 'skip'}}"
        )
    lost = described_losses(content.lost)
    return ColumnReading(
        name,
        proposal.kind,
        "; ".join(part for part in (content.note, lost and f"became missing: {lost}", proposal.why) if part),
        content.rule,
        len(facts.different),
        int(content.missing.sum()),
        _example(facts.known),
        content.lost,
        proposal.doubtful or (bool(content.lost or content.remark) and kind is None),
        content.levels if proposal.kind == CATEGORICAL else (),
        _remark(facts, proposal.kind) if kind is None else content.remark if content.decimals else "",
    )


def _remark(facts, kind):
    """What is doubtful about a column that was read by itself: its texts, or that it is left out."""
    if kind == SKIP and facts.is_text and looks_measured(facts):
        example = next(text for text in facts.known if any(sign.isdigit() for sign in str(text)))
        return f"left out as text, although most entries have digits, such as {example!r}"
    if kind == SKIP and facts.content.form == OTHER:
        return f"left out, as it has {facts.content.note}"
    return facts.content.remark if kind != SKIP else ""


def _read_as(name, column, content, kind):
    """Read a column as its kind needs it, where values suggest another; an error if it cannot be of this kind."""
    if kind == SKIP:
        return content
    if kind == CATEGORICAL:
        if content.form == OTHER:
            raise TypeError(f"column {name!r} must hold numbers, booleans or text; got {content.note}")
        return read_content(column, Rule(LEVELS)) if content.rule.decimal else content
    if content.form == LEVELS and not content.order:
        content = read_content(column, Rule(NUMBERS))
    allowed_numbers(content, name, kind)
    return content


def _example(known):
    """The first value in words, whole numbers without a point."""
    return str(known[0]).removesuffix(".0") if len(known) else ""


def warn_of_columns(readings):
    """Warn of entries that became missing, and of columns that may have been meant in another way."""
    lost = [
        f"{reading.name!r}: {described_losses(reading.lost)}"
        for reading in readings
        if reading.lost and reading.kind != SKIP
    ]
    if lost:
        warn_user(
            "Entries that are not finite numbers or dates became missing, in "
            f"column{'s' * (len(lost) > 1)} {'; '.join(lost)}"
        )
    for reading in readings:
        if reading.remark:
            warn_user(f"column {reading.name!r}: {reading.remark}")


def reading_block(readings, notes):
    """Lines of the log, at most 100 characters wide: columns, their kinds and why, and notes by names of columns."""
    shown = readings[:_MOST_LINES]
    rows = [("column", "kind", "different", "missing", "why")]
    for reading in shown:
        # Entries that became missing are part of the reason.
        why = "; ".join([reading.why, *notes.get(str(reading.name), ())])
        rows.append((str(reading.name), reading.kind, str(reading.different), str(reading.missing or ""), why))
    left = min(_NAME_WIDTH, max(len(row[0]) for row in rows))
    middle = max(len(row[1]) for row in rows)
    lines = [
        cut(f"{cut(name, left):{left}}  {kind:{middle}}  {different:>9}  {missing:>7}  {why}", WIDTH)
        for name, kind, different, missing, why in rows
    ]
    if len(readings) > len(shown):
        lines.append(f"and {len(readings) - len(shown)} more, see nrm.recipes.column_kinds(df)")
    return lines
