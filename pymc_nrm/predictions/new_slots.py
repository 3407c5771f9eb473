"""New items whose data the model holds in place of those of the old ones, and whose labels are slots."""

import numpy as np
from pytensor.graph.traversal import ancestors

from pymc_nrm.itemwise.terms import terms_of
from pymc_nrm.model.rvs import dims_of
from pymc_nrm.predictions.tables import log_sum_rows
from pymc_nrm.progress import tracked

__all__ = ["NewSlots"]


class NewSlots:
    """New items, each taken by itself, with data of the given names."""

    def __init__(self, draws, names):
        self._draws, self._names = draws, names
        dim = dims_of(draws.model, draws.rv)[0]
        values = draws.model.coords.get(dim)
        self.dim, self.coords = f"new_{dim}", {} if values is None else {f"new_{dim}": np.asarray(values)}

    @staticmethod
    def places(draw):
        """Where the items of a draw are, as indices of the columns of a table."""
        return draw.value

    def tables(self, description, progressbar):
        """Iterate over the draws, with log probabilities of the slots of every new item, shape (m, max_clusters)."""
        draws, name = self._draws, self._draws.partition
        with tracked(draws, description, progressbar) as progressing:
            for draw in progressing:
                point = {**draws.point(draw), name: np.zeros(draws.n_items, dtype=np.int64)}
                if draw.index == 0:
                    _check_shapes(draws, point)
                table = draws.log_densities(point, self._names) + draws.log_weights_of_new(draw)
                total = log_sum_rows(table)
                if not np.isfinite(total).all():
                    item = int(np.argmin(np.isfinite(total)))
                    raise ValueError(
                        f"data of new item {item} of partition {name!r} have log density {total[item]} given a draw: "
                        "they are impossible in every slot"
                    )
                yield draw, table - total[:, None]


def _check_shapes(draws, point):
    """Check that draws of the variables that the data depend on have the shapes that new data need."""
    model = draws.model
    used = set(ancestors([term.graph for term in terms_of(model, draws.rv)]))
    shapes = model.eval_rv_shapes()
    for rv in model.free_RVs:
        value = model.rvs_to_values[rv]
        if value in used and rv is not draws.rv and np.shape(point[value.name]) != tuple(shapes[value.name]):
            raise ValueError(
                f"known must be [], since the data of new items depend on {rv.name!r}, of which there are values for "
                f"the old items only: its draws have shape {np.shape(point[value.name])}, the model needs "
                f"{tuple(map(int, shapes[value.name]))}"
            )
