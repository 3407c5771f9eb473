"""Women and the events that they attended: a table whose rows and columns are both clustered.

Eighteen women of a town in the South of the United States attended fourteen events in the 1930s (Davis, Gardner &
Gardner 1941, "Deep South").  Which women go together, and to which kinds of events?  Rows and columns have partitions
of their own, and each cluster of women has one probability of attending each cluster of events.  Both numbers of
clusters are unknown.

The picture shows the table sorted by both, with the posterior probabilities of attending beside it.

The data come with networkx, which the example needs: ``pip install networkx``.

Run with ``python examples/davis.py [FILE.png]``.
"""

import sys
from pathlib import Path

import networkx as nx
import pandas as pd

import pymc_nrm as nrm


def load():
    """Which woman attended which event, 1 or 0."""
    graph = nx.davis_southern_women_graph()
    women, events = graph.graph["top"], graph.graph["bottom"]
    return pd.DataFrame(nx.bipartite.biadjacency_matrix(graph, women, events).toarray(), women, events)


def main():
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "davis.png")
    attended = load()
    model = nrm.networks.two_way_model(attended)
    idata = nrm.sample(1500, chains=2, model=model, random_seed=1)
    print(nrm.summary(idata).to_string(), "\n")
    for name in ("rows", "columns"):
        print(nrm.describe(idata, model, var_name=name), "\n")

    pc = nrm.networks.plots.plot_blocks(idata, model)
    figure = pc.viz["figure"].item()
    figure.savefig(path, dpi=90)
    print(f"Saved {path}")


if __name__ == "__main__":
    main()
