"""Write the files that tests keep: ``python tests/serving/write_kept_files.py``, once for each new format."""

import json
import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE), *[str(HERE.parent / name) for name in ("", "tools", "families", "exact", "nested", "plots")]]

import pymc_nrm as nrm  # noqa: E402
from pymc_nrm_predictor.file_format import FORMAT  # noqa: E402
from tests.cases import LARGE, SMALL  # noqa: E402
from tests.helpers import mixture_of  # noqa: E402
from tests.serving.serving_cases import KINDS, QUIET, draws_from_prior, draws_of_labels, table  # noqa: E402

FAMILIES = {
    "real": "NormalGamma, missing",
    "plane": "NormalWishart",
    "positive": "LogNormalWishart",
    "answers": "BernoulliBeta, missing",
    "levels": "CategoricalDirichlet, matrix",
    "counts": "PoissonGamma, missing",
    "words": "MultinomialDirichlet",
    "rain": "HurdleLogNormal, missing",
    "visits": "HurdlePoisson, missing",
}
LABELS = [[0, 0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 2], [0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1]]


def of_families():
    """A model with a mixture of every predictive distribution, and new rows."""
    families = {name: LARGE[row].large.family for name, row in FAMILIES.items()}
    data, new = (
        {name: LARGE[row].large.X(np.random.default_rng(seed)) for name, row in FAMILIES.items()} for seed in (1, 2)
    )
    families["scores"], plane = SMALL["PrincipalNormalWishart"]
    data["scores"] = np.concatenate([plane, plane + 0.5, plane[:2] - 0.5])
    new["scores"] = data["scores"][::-1] + 0.1
    new = {name: np.asarray(rows, dtype="float64")[:6] for name, rows in new.items()}
    return mixture_of(families, data), draws_of_labels(LABELS), new, {}


def of_table():
    """A model of a table with every kind of column, and new rows."""
    model = nrm.mixture_model(table(), kinds=KINDS)
    return model, draws_from_prior(model), table(seed=2, n=5), ("length", "income")


def of_regression():
    """A model of a target given columns of all kinds, and new rows."""
    df = table()[["weight", "income", "calls", "rating"]]
    model = nrm.regression_model(df.assign(height=df["calls"] + np.sin(np.arange(24))), "height", kinds=CALLS)
    return model, draws_from_prior(model), table(seed=2, n=5)[[*df]], (None,)


CALLS = {name: KINDS[name] for name in ("weight", "income", "calls", "rating")}


def main():
    """Write each file, and its predictions as JSON."""
    for name, make in {"families": of_families, "table": of_table, "regression": of_regression}.items():
        model, idata, new, features = make()
        path = HERE / "data" / f"format_{FORMAT}_{name}.nrm"
        path.unlink(missing_ok=True)
        estimate = np.arange(idata["z"].shape[2]) % 2
        nrm.serving.export(idata, model, path, n_draws="all", estimate=estimate, **QUIET)
        predictor = nrm.serving.Predictor(path)
        rows = new if isinstance(new, dict) else {key: column.tolist() for key, column in new.items()}
        rows = {key: np.asarray(values).tolist() if isinstance(new, dict) else values for key, values in rows.items()}
        kept = {
            "new": rows,
            "log_density": predictor.log_density(new).tolist(),
            "probability": predictor.cluster_probabilities(new).probability.tolist(),
            "quantile": {
                feature: predictor.conditional_quantiles(
                    new, [0.1, 0.5], feature=feature, average=True
                ).quantile.tolist()
                for feature in features
            },
        }
        path.with_suffix(".json").write_text(json.dumps(kept) + "\n")


if __name__ == "__main__":
    main()
