"""Fast densities of :class:`PrincipalNormalWishart`, and their gradient."""

from pymc_nrm.families import base, components, fast
from pymc_nrm.families.definitions.principal_normal_wishart import (
    PrincipalNormalWishart,
    add_shared,
    leading,
    log_shared_density,
    log_shared_marginal,
    n_directions,
    new_scores,
    write_scores,
)
from pymc_nrm.families.fast import fast_paths
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.lanes import LANES


@fast_paths(PrincipalNormalWishart)
class FastPrincipalNormalWishart:
    """A row of the cache, a column of a panel and a panel of components are made of the leading scores."""

    def cache_size(self):
        return base.cache_size(leading(self))

    def refresh_cache(self, statistics, cache):
        base.refresh_cache(leading(self), statistics, cache)

    def update_cache(self, statistics, cache, data, item, sign):
        fast.update_cache(leading(self), statistics, cache, data, item, sign)
        add_shared(statistics, data, item, sign)

    def log_predictive(self, cache, data, item):
        return base.log_predictive(leading(self), cache, data, item) + log_shared_density(self, data, item)

    def log_predictive_without(self, statistics, cache, data, item):
        value = fast.log_predictive_without(leading(self), statistics, cache, data, item)
        return value + log_shared_density(self, data, item)

    def panel_shape(self):
        return fast.panel_shape(leading(self))

    def write_panel(self, cache, rows, lanes, column):
        fast.write_panel(leading(self), cache, rows, lanes, column)

    def add_log_predictives(self, rows, lanes, data, item, width, values):
        fast.add_log_predictives(leading(self), rows, lanes, data, item, width, values)
        add_shared_density(self, data, item, width, values)

    def log_marginals_with_gradient(self, statistics, gradient):
        # The map is constant: its derivatives stay 0.
        d, q = self.scale.shape[0], self.noise.shape[0]
        start, end = 2 * d + self.directions.size, gradient.shape[0] - q
        total = fast.log_marginals_with_gradient(leading(self), statistics, gradient[start:end])
        for row in range(statistics.shape[0]):
            squares = statistics[row, statistics.shape[1] - q - 1 :]
            total += log_shared_marginal(self, statistics[row])
            for j in range(q):
                n_values = statistics[row, 0] * n_directions(self, j)
                gradient[end + j] += 0.5 * (squares[j] / self.noise[j] - n_values) / self.noise[j]
        return total

    def component_panel(self, n_columns):
        return components.component_panel(leading(self), n_columns)

    def write_component(self, parameters, panel, column):
        scores = new_scores(self)
        write_scores(self, parameters, scores)
        components.write_component(leading(self), scores, panel, column)

    def add_component_densities(self, panel, data, item, width, values):
        components.add_component_densities(leading(self), panel, data, item, width, values)
        add_shared_density(self, data, item, width, values)

    def add_densities_of_items(self, panel, data, items, n_components, values):
        components.add_densities_of_items(leading(self), panel, data, items, n_components, values)
        for lane in range(LANES):
            shared = log_shared_density(self, data, items[lane])
            for k in range(n_components):
                values[k, lane] += shared


@kernel
def add_shared_density(family, data, item, width, values):
    """Add :func:`log_shared_density` to the values of all columns of a panel."""
    shared = log_shared_density(family, data, item)
    for k in range(width // LANES * LANES):
        values[k] += shared
