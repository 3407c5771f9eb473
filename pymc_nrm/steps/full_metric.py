"""A metric of NUTS with all covariances, for weights whose components may be shifted together."""

import warnings

import numpy as np
import scipy

from pymc_nrm.common.pymc_internals import QuadPotentialFullAdapt

# Draws of the first window of adaptation; the covariance counts as so many draws of independent small steps besides.
_WINDOW, _PRIOR_DRAWS, _PRIOR_VARIANCE = 101, 5.0, 1e-3
# Weight of the identity, with which the first window begins.
_INITIAL_DRAWS = 10


class FullMetric(QuadPotentialFullAdapt):
    """PyMC's dense adaptation, with covariances that stay regular where a chain hardly moves, as in Stan."""

    def __init__(self, start, rng=None):
        with warnings.catch_warnings():
            # PyMC calls it experimental.
            warnings.simplefilter("ignore", UserWarning)
            super().__init__(len(start), start, np.eye(len(start)), _INITIAL_DRAWS, _WINDOW, rng=rng)

    def reset(self):
        # PyMC would keep the last window of the chain before.
        self.adaptation_window = _WINDOW
        super().reset()

    def _update_from_weightvar(self, weightvar):
        weightvar.current_covariance(out=self._cov)
        share = weightvar.n_samples / (weightvar.n_samples + _PRIOR_DRAWS)
        self._cov *= share
        self._cov[np.diag_indices(self._n)] += (1.0 - share) * _PRIOR_VARIANCE
        self._chol = scipy.linalg.cholesky(self._cov, lower=True)
