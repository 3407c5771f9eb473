"""Models of a table made again with further rows, whose columns are read as the columns of the table were."""

import numpy as np
import pandas as pd
import pymc as pm

from pymc_nrm.common.checks import naming
from pymc_nrm.common.pymc_internals import find_observations
from pymc_nrm.common.tables import as_pandas
from pymc_nrm.families import LogNormalWishart, NormalWishart
from pymc_nrm.families.definitions.principal_normal_wishart import PrincipalNormalWishart
from pymc_nrm.families.derived.spherical_principal_normal_wishart import SphericalPrincipalNormalWishart
from pymc_nrm.models.missing_entries import missing_variables
from pymc_nrm.models.origin import origin_of
from pymc_nrm.models.rvs import family_of, is_mixture
from pymc_nrm.recipes.gaussian_mixture import add_partition
from pymc_nrm.recipes.messages import GatheredMessages
from pymc_nrm.recipes.table_mixtures import Options, add_read_columns
from pymc_nrm.recipes.table_models import table_data


def longer_model(model, df):
    """Model of the rows of a table, made by ``mixture_model``, and of those of a DataFrame, which follow them."""
    mixtures = {rv.name: rv for rv in model.observed_RVs if is_mixture(rv)}
    recipes = {name: origin_of(rv).recipe for name, rv in mixtures.items()}
    if not recipes or None in recipes.values():
        raise ValueError(
            "model must be made by mixture_model if new_rows is a DataFrame; for other models new_rows is a dict of "
            "new values of pm.Data, or the model of all rows"
        )
    recipe = next(iter(recipes.values()))
    if recipe.of_rows is not None:
        raise ValueError(
            f"model must be made without {recipe.of_rows} if new_rows is a DataFrame, which does not have it; make "
            f"mixture_model of all rows, with {recipe.of_rows} of all rows, and pass it as new_rows"
        )
    df = as_pandas("new_rows", df)
    with naming("new_rows"):
        new = table_data(model, df)
    tables = {name: _joined(model, mixtures[name], values) for name, values in new.items()}
    tables = {name: (*table, _options(mixtures[name], recipe)) for name, table in tables.items()}
    names = names_of_rows(list(model.coords["item"]), df.index)
    with GatheredMessages(), pm.Model(coords={"item": names}, model=None) as longer:
        add_read_columns(longer, add_partition(recipe.measure, len(names)), tables)
    missing = {*missing_variables(model), *missing_variables(longer)}
    others = sorted(({*model.named_vars} ^ {*longer.named_vars}) - missing)
    if others:
        raise ValueError(
            f"model must be as mixture_model made it if new_rows is a DataFrame; got changes in {others}. Pass the "
            "model of all rows as new_rows"
        )
    return longer


def _joined(model, mixture, new):
    """Values of old and new rows as they were recorded, a DataFrame, and the readings of its columns."""
    origin = origin_of(mixture)
    old = find_observations(model)[mixture.name] if origin.recorded is None else origin.recorded
    columns = [reading.name for reading in origin.readings]
    values = np.concatenate([np.asarray(old, dtype="float64"), new.to_numpy()])
    return pd.DataFrame(values, columns=pd.Index(columns, tupleize_cols=False)), list(origin.readings)


def _options(mixture, recipe):
    """Options that give the family of a mixture again."""
    family = family_of(mixture)
    if isinstance(family, PrincipalNormalWishart | SphericalPrincipalNormalWishart):
        return Options(None, recipe.jitter_ties, family.location.type.shape[0], recipe=recipe)
    has_covariances = isinstance(family, NormalWishart | LogNormalWishart)
    return Options("full" if has_covariances else "diagonal", recipe.jitter_ties, recipe=recipe)


def names_of_rows(old, index):
    """Names of old and new rows: numbers are continued where both are numbered from 0."""
    new = index.tolist()
    if old == list(range(len(old))) and new == list(range(len(new))):
        return range(len(old) + len(new))
    old_names = set(old)
    repeated = [name for name in new if name in old_names]
    if repeated or len(set(new)) < len(new):
        raise ValueError(
            "new_rows must have an index of names that the rows of the model do not have, or both must be numbered "
            f"from 0; got {repeated[0] if repeated else 'the same name twice'!r}"
        )
    return [*old, *new]
