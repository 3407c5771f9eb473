"""The kind that the values of a column suggest: one rule after the other, the first that answers decides."""

import re
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.recipes.reading.evidence import evidence_of_counts, evidence_of_logarithm
from pymc_nrm.recipes.reading.kinds import BINARY, CATEGORICAL, COUNT, NUMERIC, POSITIVE, SKIP, ZERO_OR_POSITIVE
from pymc_nrm.recipes.zeros import has_excess_zeros
from pymc_nrm_predictor.reading.content import BOOLEANS, DATES, LEVELS, NUMBERS, OTHER, Content

# Numbers are categories if they have at most so many different values, each with so many items on average.
FEW_VALUES = {10: 4, 20: 20}

# Texts with more different values than these are levels only if each has so many items on average, and whole numbers
# under the name of an identifier are one.
MOST_LEVELS, LEAST_ITEMS = 20, 4

# Nats a row by which a normal distribution of logarithms is better before it is proposed.
LEAST_EVIDENCE = 0.1

# Names of columns that hold names or numbers of items, as in "id", "patient_id", "StudentID" or "Unnamed: 0".
_IDENTIFIER = re.compile(
    r"((^|[_ .-])(?i:ids?|uuid|index|code|rownames?|row names|nr|subject|subj|patient|participant|zip|zipcode|fips|"
    r"postcode|postal[ _]?code|postleitzahl|plz|phone|iban|isbn)|"
    r"[a-z]I[Dd]|^Unnamed: \d+)$"
)


_DIGITS = re.compile(r"\d+")


def is_identifier(name):
    """Whether a column is called like names or numbers of items."""
    return _IDENTIFIER.search(str(name)) is not None


class Facts(NamedTuple):
    """What rules ask about a column."""

    name: Any
    content: Content
    # Values that are not missing, their sorted different ones, and how many items each has.
    known: np.ndarray
    different: np.ndarray
    sizes: np.ndarray

    @property
    def n(self):
        return len(self.known)

    @property
    def is_text(self):
        return self.content.form == LEVELS

    @property
    def is_whole(self):
        return self.content.form == NUMBERS and bool((self.known == np.floor(self.known)).all())

    @property
    def has_gaps(self):
        return self.n < len(self.content.values)


class Proposal(NamedTuple):
    """A kind, the reason in words, and whether a user should have a look before it is taken for granted."""

    kind: str
    why: str
    doubtful: bool = False


def facts_of(name, content):
    """What rules ask about a column, from its values."""
    known = content.values[~content.missing]
    if content.form == OTHER:
        return Facts(name, content, known, known[:0], np.zeros(0))
    different, sizes = np.unique(known, return_counts=True) if content.form != LEVELS else _counted(known)
    return Facts(name, content, known, different, sizes)


def _counted(texts):
    levels, sizes = np.unique([f"{type(value).__name__} {value}" for value in texts], return_counts=True)
    return levels, sizes


def default_kind(facts):
    """The proposal of the first rule that has one."""
    return next(proposal for proposal in (rule(facts) for rule in RULES) if proposal is not None)


def unreadable(facts):
    """Lists, complex numbers and the like."""
    if facts.content.form == OTHER:
        return Proposal(SKIP, "neither numbers nor text", True)


def constant(facts):
    """Columns without a difference say nothing about clusters."""
    if len(facts.different) < 2:
        return Proposal(SKIP, "no values" if facts.n == 0 else "only one value", True)


def identifier_text(facts):
    """Texts that hardly ever repeat, and many different texts under the name of an identifier."""
    if not facts.is_text:
        return None
    n_different = len(facts.different)
    if n_different == facts.n:
        return Proposal(SKIP, "a different text in every row", True)
    if n_different > MOST_LEVELS and is_identifier(facts.name):
        return Proposal(SKIP, "an identifier by its name", True)
    if not facts.content.order and n_different > MOST_LEVELS and facts.n < LEAST_ITEMS * n_different:
        return Proposal(SKIP, f"{n_different} different texts in {facts.n} rows rarely repeat", True)


def looks_measured(facts):
    """Whether texts that are left out have digits in most entries, and are not codes such as AB-0012."""
    if is_identifier(facts.name):
        return False
    texts = [str(text) for text in facts.known]
    has_digits = [any(sign.isdigit() for sign in text) for text in texts]
    # The letters of codes are the same in all entries.
    return sum(has_digits) > len(texts) / 2 and len({_DIGITS.sub("0", text) for text in texts}) > 1


def identifier_number(facts):
    """Whole numbers that number the rows, and unique or many ones under the name of an identifier."""
    if not facts.is_whole:
        return None
    n_different = len(facts.different)
    unique = n_different == facts.n
    if unique and not facts.has_gaps and facts.different[-1] - facts.different[0] == facts.n - 1:
        return Proposal(SKIP, "numbers the rows", True)
    if n_different > MOST_LEVELS and is_identifier(facts.name):
        return Proposal(SKIP, "an identifier by its name" + (", different in every row" if unique else ""), True)


def dates(facts):
    """Dates, times and spans are measured in days or seconds, unless there are few."""
    if facts.content.form == DATES:
        return few_values(facts) or Proposal(NUMERIC, "", True)


def binary(facts):
    """Booleans, and numbers that are all 0 or 1."""
    if facts.content.form == BOOLEANS:
        return Proposal(BINARY, "booleans")
    if facts.content.form == NUMBERS and np.isin(facts.different, (0.0, 1.0)).all():
        return Proposal(BINARY, "all 0 or 1")


def text(facts):
    """Texts and pandas categories."""
    if facts.is_text:
        return Proposal(CATEGORICAL, "categories" if facts.content.order else "text")


def zero_or_positive(facts):
    """Numbers that are zero in a large share of rows, and positive with many values elsewhere."""
    if facts.content.form != NUMBERS or len(facts.different) <= min(FEW_VALUES) + 1 or facts.different[0] != 0.0:
        return None
    # Zeros stand out from the other values.
    if facts.sizes[0] >= 2 * facts.sizes[1:].max() and has_excess_zeros(facts.known):
        return Proposal(
            ZERO_OR_POSITIVE, f"zero in {facts.sizes[0] / facts.n:.0%} of the rows, positive elsewhere", True
        )


def few_values(facts):
    """Numbers with few different values for their rows: categories are the guess with which least goes wrong."""
    n_different = len(facts.different)
    if any(n_different <= most and facts.n >= least * n_different for most, least in FEW_VALUES.items()):
        what = "dates" if facts.content.form == DATES else "numbers"
        return Proposal(CATEGORICAL, f"few different {what}", True)


def counts(facts):
    """Whole numbers that begin at 0 or 1, if one Poisson cluster describes them better than one normal cluster."""
    if not facts.is_whole or facts.different[0] not in (0, 1):
        return None
    if evidence_of_counts(facts.known) > 0:
        return Proposal(COUNT, "whole numbers that spread as counts do", True)


def measurement(facts):
    """Everything else; skewed positive numbers may be better modelled by their logarithms."""
    why = "whole numbers" if facts.is_whole else "measurements"
    if facts.different[0] > 0.0 and evidence_of_logarithm(facts.known) > LEAST_EVIDENCE:
        why += f", skewed: {POSITIVE!r} would model the logarithm"
    return Proposal(NUMERIC, why)


# A rule is a function of the facts: a proposal, or None to leave the column to those that follow.
RULES = (
    unreadable,
    constant,
    identifier_text,
    identifier_number,
    dates,
    binary,
    text,
    zero_or_positive,
    few_values,
    counts,
    measurement,
)
