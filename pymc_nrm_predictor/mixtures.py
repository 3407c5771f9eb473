"""Mixtures of a file: data of new rows, checked, and their log densities in every component of every draw."""

import math

import numpy as np

from pymc_nrm_predictor.checks import numeric_array, refuse
from pymc_nrm_predictor.counts import Bernoullis, Categories, Multinomials, NegativeBinomials
from pymc_nrm_predictor.named_columns import in_order
from pymc_nrm_predictor.regressions import Regressions, covariates_of
from pymc_nrm_predictor.students import MultivariateStudents, Students, lower_triangles

# Log densities of larger counts are differences of terms whose fifth decimal doubles do not hold.
_LARGEST_COUNT = 1e9

# Logarithms of the smallest and the largest positive double with all digits.
_LOG_SMALLEST, _LOG_LARGEST = math.log(np.finfo(float).tiny), math.log(np.finfo(float).max)


class Mixture:
    """A mixture; subclasses have its predictive distribution.

    ``shapes`` has the axes of the arrays that the file needs: "N" for components, that is clusters of all draws, "d"
    for features, and others.
    """

    shapes: dict[str, tuple[str, ...]] = {}
    missing_allowed = True
    # Whether the predictive distribution of a feature given others is a Student t.
    has_quantiles = False

    def __init__(self, about):
        self.name, self.n_features = about["name"], about["n_features"]
        self.features, self.is_univariate = about.get("features"), about["univariate"]

    def set_arrays(self, arrays):
        """Take the arrays of the file, whose shapes are right."""
        raise NotImplementedError

    def matrix(self, title, values):
        """Data of new rows, as users give them, as floats in a new array, (m, d) if they fit; NaN where missing."""
        # Sparse matrices of SciPy have the method.
        values = values.toarray() if hasattr(values, "toarray") else numeric_array(title, values)
        values = np.array(values, dtype="float64")
        return values[:, None] if values.ndim == 1 and self.n_features == 1 else values

    def rows(self, title, values):
        """Checked data (m, d) of new rows, as users give them."""
        values = self.matrix(title, in_order(title, values, self.features))
        if values.ndim != 2 or values.shape[1] != self.n_features:
            allowed = f"(m, {self.n_features})" + (" or (m,)" if self.n_features == 1 else "")
            raise ValueError(f"{title} must have shape {allowed}, one column per feature; got shape {values.shape}")
        if not len(values):
            raise ValueError(f"{title} must have at least one row; got shape {values.shape}")
        refuse(title, "must be finite, without infinite values", values, np.isinf(values))
        if not self.missing_allowed:
            refuse(title, "must have no NaN, since its family allows no missing values", values, np.isnan(values))
        self.check(title, values)
        return values

    def check(self, title, values):
        """Check that data are in the support."""

    def log_density(self, values):
        """Log densities of checked rows in every component, shape (m, N)."""
        return self._distribution.log_density(values)

    def log_density_of(self, data):
        """Log densities of its rows among checked rows of all mixtures, by name, shape (m, N)."""
        return self.log_density(data[self.name])

    def one_feature_of(self, data, feature):
        """Student t distributions of a feature given the others, on the scale of :meth:`in_units`, each (m, N)."""
        raise NotImplementedError

    def in_units(self, feature, quantiles, means):
        """Quantiles and means in the units of the data."""
        return quantiles, means

    def check_given(self, names):
        """Check that data are given of all mixtures, by their names, that the distribution depends on."""


class _Counts(Mixture):
    largest, words = _LARGEST_COUNT, "at most 1e+09"

    def check(self, title, values):
        known = ~np.isnan(values)
        refuse(title, "must be whole numbers", values, known & (values != np.floor(values)))
        refuse(title, "must be at least 0", values, known & (values < 0))
        refuse(title, f"must be {self.words}", values, known & (values > self.largest))


class BinaryMixture(_Counts):
    """Binary features: beta distributions of ``ones`` and ``zeros``."""

    shapes = {"ones": ("N", "d"), "zeros": ("N", "d")}
    largest, words = 1, "0, 1 or NaN"

    def set_arrays(self, arrays):
        self._distribution = Bernoullis(arrays["ones"], arrays["zeros"])


class CategoricalMixture(_Counts):
    """Categorical features: Dirichlet distributions of ``weights``, 0 for levels that a feature does not have."""

    shapes = {"weights": ("N", "d", "l"), "n_levels": ("d",)}

    def set_arrays(self, arrays):
        self._distribution, self._n_levels = Categories(arrays["weights"]), arrays["n_levels"]

    def check(self, title, values):
        super().check(title, values)
        refuse(title, "must be levels below the numbers of levels of the model", values, values >= self._n_levels)


class CountMixture(_Counts):
    """Counts: gamma distributions, of ``shape`` and ``rate``, of Poisson rates."""

    shapes = {"shape": ("N", "d"), "rate": ("N", "d")}

    def set_arrays(self, arrays):
        self._distribution = NegativeBinomials(arrays["shape"], arrays["rate"])


class MultinomialMixture(_Counts):
    """Vectors of counts: a Dirichlet distribution of ``weights``."""

    shapes = {"weights": ("N", "d")}
    missing_allowed = False

    def set_arrays(self, arrays):
        self._distribution = Multinomials(arrays["weights"])


class HurdleCountMixture(_Counts):
    """Counts with zeros of their own: what is positive, and positive counts less one."""

    shapes = dict.fromkeys(("ones", "zeros", "shape", "rate"), ("N", "d"))

    def set_arrays(self, arrays):
        self._is_positive = Bernoullis(arrays["ones"], arrays["zeros"])
        self._positive = NegativeBinomials(arrays["shape"], arrays["rate"])

    def log_density(self, values):
        less_one = np.where(values > 0.0, values - 1.0, np.nan)
        return self._is_positive.log_density(_is_positive(values)) + self._positive.log_density(less_one)


class HurdleAmountMixture(Mixture):
    """Amounts that are zero or positive: what is positive, and Student t distributions of logarithms."""

    shapes = dict.fromkeys(("ones", "zeros", "df", "location", "scale"), ("N", "d"))

    def set_arrays(self, arrays):
        self._is_positive = Bernoullis(arrays["ones"], arrays["zeros"])
        self._logarithms = Students(arrays["df"], arrays["location"], arrays["scale"])

    def check(self, title, values):
        refuse(title, "must be at least 0", values, values < 0.0)

    def log_density(self, values):
        logs = _logarithms(values, values > 0.0)
        table = self._is_positive.log_density(_is_positive(values)) + self._logarithms.log_density(logs)
        return table - np.nansum(logs, axis=1)[:, None]


class _RealMixture(Mixture):
    """Real features, relative to a ``center``, and logarithms of positive ones, where ``is_log``."""

    has_quantiles = True

    def __init__(self, about):
        super().__init__(about)
        self._is_log = np.array(about.get("log") or [False] * self.n_features, dtype=bool)

    def check(self, title, values):
        bad = self._is_log & (values <= 0.0)
        refuse(title, "must be above 0 in columns whose logarithm is modelled", values, bad)

    def _on_scale(self, values):
        return np.where(self._is_log, _logarithms(values, self._is_log & (values > 0.0)), values)

    def log_density(self, values):
        scaled = self._on_scale(values)
        volumes = np.nansum(np.where(self._is_log, scaled, 0.0), axis=1)
        return self._distribution.log_density(scaled - self._center) - volumes[:, None]

    def one_feature_of(self, data, feature):
        values = self._on_scale(data[self.name])
        df, location, scale = self._distribution.one_feature(values - self._center, feature)
        return df, location + self._center[feature], scale

    def in_units(self, feature, quantiles, means):
        if not self._is_log[feature]:
            return quantiles, means
        # The exponential of a Student t variable has no mean.
        return np.exp(np.clip(quantiles, _LOG_SMALLEST, _LOG_LARGEST)), np.full_like(means, np.nan)


class StudentMixture(_RealMixture):
    """Real features with independent Student t distributions."""

    shapes = {"df": ("N", "d"), "location": ("N", "d"), "scale": ("N", "d"), "center": ("d",)}

    def set_arrays(self, arrays):
        self._distribution = Students(arrays["df"], arrays["location"], arrays["scale"])
        self._center = arrays["center"]


class MultivariateStudentMixture(_RealMixture):
    """Real features with multivariate Student t distributions."""

    shapes = {"df": ("N",), "location": ("N", "d"), "whitening": ("N", "t"), "center": ("d",)}

    def set_arrays(self, arrays):
        whitening = lower_triangles(arrays["whitening"], self.n_features)
        self._distribution = MultivariateStudents(arrays["df"], arrays["location"], whitening)
        self._center = arrays["center"]


class PrincipalMixture(Mixture):
    """Multivariate Student t distributions of scores along directions, and normal noise along all others."""

    shapes = {
        "df": ("N",),
        "location": ("N", "k"),
        "whitening": ("N", "t"),
        "noise": ("N", "q"),
        "center": ("d",),
        "scale": ("d",),
        "directions": ("d", "p"),
    }
    missing_allowed = False

    def set_arrays(self, arrays):
        self._k = arrays["location"].shape[1]
        whitening = lower_triangles(arrays["whitening"], self._k)
        self._distribution = MultivariateStudents(arrays["df"], arrays["location"], whitening)
        self._noise, self._center, self._scale = arrays["noise"], arrays["center"], arrays["scale"]
        self._directions = arrays["directions"]

    def log_density(self, values):
        scaled = (values - self._center) / self._scale
        scores = scaled @ self._directions
        table = self._distribution.log_density(scores[:, : self._k])
        if self._directions.shape[1] > self._k:
            rest = scores[:, self._k :]
        else:
            rest = np.linalg.norm(scaled - scores @ self._directions.T, axis=1)[:, None]
        n_noises = self._noise.shape[1]
        # The last noise is shared by all directions that are left.
        n_directions = np.append(np.ones(n_noises - 1), self.n_features - self._k - (n_noises - 1))
        logs = (n_directions * np.log(2.0 * math.pi * self._noise)).sum(axis=1)
        return table - 0.5 * (logs + rest**2 @ (1.0 / self._noise).T) - np.log(self._scale).sum()


class RegressionMixture(Mixture):
    """A response with a linear regression on a constant and features of other mixtures.

    Responses are relative to the fit ``w' center``, and covariates to ``covariate_center``.
    """

    shapes = {
        "df": ("N",),
        "coefficient": ("N", "k"),
        "leverage": ("N", "t"),
        "scale": ("N",),
        "center": ("k",),
        "covariate_center": ("c",),
    }
    has_quantiles = True

    def __init__(self, about):
        super().__init__(about)
        self._terms = about["covariates"]
        self._sources = sorted({term["mixture"] for term in self._terms})

    def set_arrays(self, arrays):
        parts = (arrays[name] for name in ("df", "coefficient", "leverage", "scale"))
        self._distribution = Regressions(*parts)
        self._center, self._covariate_center = arrays["center"], arrays["covariate_center"]

    def check_given(self, names):
        missing = [name for name in self._sources if name not in names]
        if missing:
            raise ValueError(
                f"new values of {missing} must be given, on which the covariates of {self.name!r} depend; got "
                f"{sorted(names)}"
            )

    def _covariates(self, data):
        raw = covariates_of(data, self._terms)
        for term in self._terms:
            rows = data[term["mixture"]]
            column = np.zeros_like(rows, dtype=bool)
            column[:, term["feature"]] = np.isnan(rows[:, term["feature"]])
            refuse(f"{term['mixture']!r}, a covariate of {self.name!r}", "must not be missing", rows, column)
        return np.column_stack([np.ones(len(raw)), raw - self._covariate_center])

    def log_density_of(self, data):
        w = self._covariates(data)
        return self._distribution.log_density(w, data[self.name][:, 0] - w @ self._center)

    def one_feature_of(self, data, feature):
        w = self._covariates(data)
        df, location, scale = self._distribution.students(w)
        return df, location + (w @ self._center)[:, None], scale


# Mixtures by the name of their predictive distribution in the file.
MIXTURES: dict[str, type[Mixture]] = {
    "student": StudentMixture,
    "multivariate student": MultivariateStudentMixture,
    "principal multivariate student": PrincipalMixture,
    "binary": BinaryMixture,
    "categorical": CategoricalMixture,
    "count": CountMixture,
    "multinomial": MultinomialMixture,
    "regression": RegressionMixture,
    "zero or positive": HurdleAmountMixture,
    "zero or positive count": HurdleCountMixture,
}


def _is_positive(values):
    return np.where(np.isnan(values), np.nan, (values > 0.0).astype("float64"))


def _logarithms(values, where):
    """Logarithms of some values, NaN for all others."""
    return np.where(where, np.log(np.where(where, values, 1.0)), np.nan)
