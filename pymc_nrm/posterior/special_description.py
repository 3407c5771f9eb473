"""What a description is asked, and what is said of one kind of partition only."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from pymc_nrm.posterior.describe_values import describe_column
from pymc_nrm.posterior.described_columns import (
    columns_of_model,
    columns_of_table,
    observations_of_items,
    of_items,
    rules_of_model,
)
from pymc_nrm.posterior.described_parameters import described_parameters
from pymc_nrm.posterior.description import Words
from pymc_nrm.stats.result import posterior_of, with_chains


class Asked(NamedTuple):
    """Arguments of :func:`~pymc_nrm.describe`, after checks that all kinds share."""

    idata: Any
    model: Any
    partition: Any
    # Name of the mixture by which the partition was named, or None.
    mixture: str | None
    estimate: Any
    components: bool
    level: int | None
    data: Any
    ci_prob: float

    @property
    def tails(self):
        return [(1 - self.ci_prob) / 2, (1 + self.ci_prob) / 2]

    def refuse_what_is_of_clusters(self, what):
        """Raise for arguments that only flat or nested partitions have."""
        for name, given in (("components", self.components), ("level", self.level)):
            if given not in (False, None):
                raise ValueError(f"{name} must be left out, since {self.partition.name!r} {what}; got {given!r}")


class Special(NamedTuple):
    """What is said of one kind of partition, of each cluster in the order of the labels of the estimate."""

    words: Words
    title: str
    # Labels of the items (n,) in order of appearance, names of the clusters, the estimate, and draws to compare with.
    labels: Any
    names: Any
    estimate: Any
    draws: Any
    # Texts between semicolons, the most important first.
    entries: list
    # Sentences, or a function of the certainty of the clusters that returns them.
    notes: Any
    long_notes: tuple = ()
    # By default shares of the items.
    shares: Any = None
    # Arrays for the table, and texts for cells, beside those that all kinds have.
    numbers: Mapping = MappingProxyType({})
    cells: Mapping = MappingProxyType({})
    # Columns and parameters that are described, and further tables.
    columns: Mapping = MappingProxyType({})
    tables: Mapping = MappingProxyType({})


def described_data(asked, labels, draws, kept, noun="cluster"):
    """Columns of the model, or of the table that was given, and parameters; also the columns themselves.

    Shapes: ``labels`` (n,) of the items of ``draws`` that are ``kept``, bool.
    """
    columns = columns_of_model(asked.model, asked.partition, len(kept), noun)
    if asked.data is not None:
        rules = rules_of_model(asked.model, asked.partition)
        counts = observations_of_items(asked.model, asked.partition)
        columns = columns_of_table(asked.data, columns, draws, rules, noun, counts)
    columns = [of_items(column, kept) for column in columns]
    described = {column.name: describe_column(column, labels) for column in columns}
    posterior = with_chains(posterior_of(asked.idata))
    parameters = described_parameters(asked.idata, asked.model, asked.partition, posterior, labels, asked.tails, kept)
    return columns, described | parameters, bool(parameters)
