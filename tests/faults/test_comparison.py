"""The comparison with the model stops faults that are put back on purpose, before the first draw."""

import math
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from pymc.exceptions import SamplingError

import pymc_nrm as nrm
from pymc_nrm.families import base
from pymc_nrm.kernels import argument_types
from pymc_nrm.kernels.chosen_uniform import generator_with_uniform, probability
from pymc_nrm.kernels.generic import Generic
from pymc_nrm.measures.base import log_eppf, symbolic_log_eppf
from pymc_nrm.models import learned_priors
from pymc_nrm.models.itemwise import item_table, local_variables, summed_out
from pymc_nrm.steps import base as step_base
from pymc_nrm.steps import component_swaps, missing_gibbs, slot_nuts, target
from pymc_nrm.steps.comparison import ModelComparison, OwnMove
from pymc_nrm.steps.label_moves import PartitionRatios
from tests.tools.wings import rows_of_wings

X = np.array([0.0, 1.0, 7.0, 9.0])
K = 6


class Tempered(nrm.PoissonGamma):
    """A power likelihood, 0.3 times the log marginal (Miller & Dunson 2019)."""

    __slots__ = ()

    def log_marginal(self, statistics):
        return 0.3 * base.log_marginal(nrm.PoissonGamma(self.alpha, self.beta), statistics)

    def log_likelihood(self, X, labels):
        return 0.3 * base.log_likelihood(nrm.PoissonGamma(self.alpha, self.beta), X, labels)


def tempered():
    """A family of a class that numba has not seen: machine code does not follow what tests put back."""
    return type("Tempered", (Tempered,), {"__slots__": ()})(1.0, 0.2)


def tempered_after_a_run():
    """The same of a class that had the functions of its parent while a chain ran."""
    edited = type("Edited", (nrm.PoissonGamma,), {"__slots__": ()})
    for power in (1.0, 0.3):
        edited.log_marginal = functions_to_the(power)[0]
        edited.log_likelihood = functions_to_the(power)[1]
        if power == 1.0:
            draw(Row(None, lambda: partition_of_counts(family=edited(1.0, 0.2)), None))
    return partition_of_counts(family=edited(1.0, 0.2))


def functions_to_the(power):
    """The two functions with other constants in their code."""
    namespace = {"base": base, "nrm": nrm, "__name__": __name__}
    for name, arguments in (("log_marginal", "statistics"), ("log_likelihood", "X, labels")):
        call = f"base.{name}(nrm.PoissonGamma(self.alpha, self.beta), {arguments})"
        exec(f"def {name}(self, {arguments}):\n    return {power} * {call}\n", namespace)
    return namespace["log_marginal"], namespace["log_likelihood"]


class Cautious(nrm.DirichletProcess):
    """A prior with half the log probability of each new cluster."""

    __slots__ = ()

    def symbolic_log_eppf(self, counts):
        return symbolic_log_eppf(nrm.DirichletProcess(self.alpha), counts) - 0.7 * counts.shape[0]


def partition_of_counts(measure=None, family=None, step=nrm.steps.MarginalGibbs, **kind):
    z = nrm.Partition("z", measure or nrm.DirichletProcess(1.0), n=4, **kind)
    nrm.Mixture("x", z, family or nrm.PoissonGamma(1.0, 0.2), observed=X)
    return step and [step([z])]


def slots(steps=lambda z, a, b: [nrm.steps.SlotGibbs([z]), pm.Slice([b]), nrm.steps.SlotNUTS([a])]):
    z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=4, max_clusters=K)
    a = pm.Normal("a", 0, 1, shape=K)
    b = pm.Normal("b", a, 0.5, shape=K)
    pm.Normal("y", b[z], 1, observed=X)
    return steps(z, a, b)


def slots_and_hyperparameter():
    h = pm.Normal("h", 0, 1)
    z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=4, max_clusters=K)
    a = pm.Normal("a", h, 0.5, shape=K)
    b = pm.Normal("b", a * h, 0.5, shape=K)
    pm.Normal("y", b[z], 1, observed=X)
    return [pm.Slice([b])]


def potential_of_labels(z):
    pm.Potential("odd", (pt.eq(z, 0) * np.array([0.1, 0.9, -0.4, 0.3])).sum())


def slots_and_potential():
    return slots(lambda z, a, b: potential_of_labels(z) or [nrm.steps.SlotGibbs([z])])


def partition_and_potential():
    partition_of_counts(step=None)
    z = pm.modelcontext(None)["z"]
    return potential_of_labels(z) or [nrm.steps.TreeGuided([z])]


def learned_counts(alpha=None):
    z = nrm.Partition("z", nrm.DirichletProcess(1.0 if alpha is None else alpha), n=4)
    nrm.Mixture("x", z, nrm.PoissonGamma.learned("x", X[:, None]), observed=X[:, None])
    return [nrm.steps.MarginalGibbs([z])]


def learned_and_potential():
    step = learned_counts()
    concentration = pm.modelcontext(None)["x_concentration"]
    pm.Potential("reader", -concentration.sum())
    return [*step, nrm.steps.LearnedGibbs()]


class Doubled(pm.distributions.transforms.LogTransform):
    """Twice the logarithm."""

    def forward(self, value, *inputs):
        return 2.0 * pt.log(value)

    def backward(self, value, *inputs):
        return pt.exp(0.5 * value)

    def log_jac_det(self, value, *inputs):
        return 0.5 * value + math.log(0.5)


def doubled_logarithm():
    alpha = pm.Gamma("alpha", 2.0, 4.0, default_transform=Doubled())
    return [*partition_of_counts(nrm.DirichletProcess(alpha)), nrm.steps.LearnedGibbs([alpha])]


def gaps_and_potential():
    values = np.array([[0.0, 1.0], [0.5, np.nan], [8.0, 9.0], [9.0, 8.0]])
    z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=4)
    family = nrm.NormalWishart(mu=[4, 4], kappa=0.1, Psi=np.eye(2), nu=8)
    nrm.Mixture("x", z, family, observed=values)
    entries = pm.modelcontext(None)["x_missing"]
    pm.Potential("reader", -(entries**2).sum())
    return [nrm.steps.MissingGibbs(entries)]


def components(steps=lambda z, others: [nrm.steps.WeightedGibbs([z]), pm.Slice(others)]):
    share = pm.Dirichlet("share", np.ones(3))
    z = nrm.Partition("z", log_weights=pt.log(share), n=4)
    rate = pm.Gamma("rate", 1, [1.0, 2.0, 4.0], shape=3)
    pm.Poisson("x", rate[z], observed=X.astype(int))
    potential_of_labels(z)
    return steps(z, [share, rate])


def inherit_everything(patch):
    """Methods are inherited whatever a subclass redefines."""
    patch.setattr(
        Generic,
        "dispatch",
        lambda self, cls: next(f for c in cls.__mro__ if (f := self.implementation_of(c)) is not None),
    )


def local_for_all_variables(patch):
    """Locality is proved for all variables together and used for some of them."""
    proved = local_variables.local_variables
    patch.setattr(
        slot_nuts,
        "local_variables",
        lambda *arguments: [rv for rv in proved(*arguments[:4]) if any(rv is one for one in arguments[4])],
    )


def without_term(module, name):
    """A term that depends on labels is overlooked."""

    def put_back(patch):
        terms_of = module.terms_of
        patch.setattr(module, "terms_of", lambda *rest: [term for term in terms_of(*rest) if term.name != name])

    return put_back


def summed_without(name):
    """A term that depends on labels is overlooked by the target of NUTS."""

    def put_back(patch):
        split = summed_out.split_terms

        def without(*rest):
            return [[term for term in terms if term.name != name] for terms in split(*rest)]

        patch.setattr(summed_out, "split_terms", without)

    return put_back


def without_what_has_no_label(patch):
    """Parts of a term that depend on no label are overlooked by the target of NUTS."""
    split = summed_out.split_terms
    patch.setattr(summed_out, "split_terms", lambda *rest: [split(*rest)[0], []])


def penalised(has_mixture):
    share = pm.Dirichlet("share", np.ones(3))
    z = nrm.Partition("z", log_weights=pt.log(share), n=4)
    mean, sd = pm.Normal("mean", 0.0, 9.0, shape=3), pm.HalfNormal("sd", 5.0)
    pm.Potential("lik", (-0.5 * ((X - mean[z]) / sd) ** 2).sum() - 4.0 * pt.log(sd))
    if has_mixture:
        nrm.Mixture("count", z, nrm.PoissonGamma(1.0, 0.5), observed=X.astype(int))


def known_by_class(patch):
    """Machine code is found by the class alone, and sums over all data are not compared."""
    patch.setattr(argument_types, "known_to_numba", lambda cls: cls)
    patch.setattr(step_base, "check_against_graph", lambda *rest: None)


def read_by_nothing(patch):
    patch.setattr(learned_priors._Readers, "read_elsewhere", lambda *arguments: False)


def any_logarithm(patch):
    patch.setattr(
        learned_priors, "_is_log", lambda transform: isinstance(transform, pm.distributions.transforms.LogTransform)
    )


def swaps_without_prior(patch):
    patch.setattr(
        component_swaps.ComponentSwaps, "_log_density", lambda self, point: self._table.values(point, point["z"]).sum()
    )


class Row(NamedTuple):
    put_back: Any
    model: Any
    # The step that must be stopped.
    step: str


ROWS = {
    "subset": Row(local_for_all_variables, slots, "SlotNUTS"),
    "hyperparameter": Row(local_for_all_variables, slots_and_hyperparameter, "SlotNUTS"),
    "subclass": Row(inherit_everything, lambda: partition_of_counts(family=tempered()), "MarginalGibbs"),
    "subclass-tree": Row(
        inherit_everything, lambda: partition_of_counts(family=tempered(), step=nrm.steps.TreeGuided), "TreeGuided"
    ),
    "subclass-slice": Row(
        inherit_everything,
        lambda: partition_of_counts(family=tempered(), step=nrm.steps.SliceSampler),
        "SliceSampler",
    ),
    "edited": Row(
        known_by_class,
        tempered_after_a_run,
        "MarginalGibbs",
    ),
    "measure": Row(inherit_everything, lambda: partition_of_counts(Cautious(1.0)), "MarginalGibbs"),
    "measure-learned": Row(
        lambda patch: (inherit_everything(patch), read_by_nothing(patch)),
        learned_and_potential,
        "LearnedGibbs",
    ),
    "reader": Row(read_by_nothing, learned_and_potential, "LearnedGibbs"),
    "transform": Row(any_logarithm, doubled_logarithm, "LearnedGibbs"),
    "potential": Row(
        lambda patch: patch.setattr(target, "check_uses", lambda *rest: None), partition_and_potential, "TreeGuided"
    ),
    "slots": Row(without_term(item_table, "odd"), slots_and_potential, "SlotGibbs"),
    "components": Row(without_term(item_table, "odd"), components, "WeightedGibbs"),
    "summed": Row(summed_without("odd"), lambda: components(lambda z, others: None), "WeightedNUTS"),
    "without labels": Row(without_what_has_no_label, lambda: penalised(False), "WeightedNUTS"),
    "without labels, beside a mixture": Row(without_what_has_no_label, lambda: penalised(True), "WeightedNUTS"),
    "swaps": Row(swaps_without_prior, lambda: components(lambda z, others: None), "WeightedNUTS"),
    "gaps": Row(
        lambda patch: patch.setattr(missing_gibbs, "_check_uses", lambda *rest: None),
        gaps_and_potential,
        "MissingGibbs",
    ),
}
ROWS |= {name: Row(*row) for name, row in rows_of_wings("COMPARED", "comparison").items()}


QUICK = ("subset", "subclass", "reader", "transform", "slots", "swaps")


def draw(row):
    # Also within the context of another model.
    with pm.Model(model=None):
        step = row.model()
        options = {"progressbar": False, "quiet": True, "compute_convergence_checks": False}
        nrm.sample(2, tune=0, chains=1, cores=1, step=step, random_seed=1, **options)


@pytest.mark.quick(*QUICK)
@pytest.mark.parametrize("name", ROWS)
def test_a_fault_is_stopped_before_the_first_draw(name, monkeypatch):
    row = ROWS[name]
    row.put_back(monkeypatch)
    with pytest.raises(SamplingError, match=f"{row.step} would not sample .* from the posterior. If "):
        draw(row)


# Without these faults, steps refuse the other models.
SOUND = (
    "subset",
    "hyperparameter",
    "subclass",
    "subclass-tree",
    "edited",
    "summed",
    "swaps",
    "components",
    "without labels",
    "without labels, beside a mixture",
    *rows_of_wings("SOUND", "comparison"),
)


@pytest.mark.quick("subset")
@pytest.mark.parametrize("name", SOUND)
def test_a_sound_model_is_compared_and_drawn(name, monkeypatch):
    n_compared, check = {}, ModelComparison.check

    def counted(self, *arguments):
        check(self, *arguments)
        n_compared[self.title] = self.n_compared

    monkeypatch.setattr(ModelComparison, "check", counted)
    draw(ROWS[name])
    assert n_compared.pop(ROWS[name].step) >= 2
    assert all(n_compared.values())


KINDS = {
    "small concentration": lambda: partition_of_counts(nrm.DirichletProcess(1e-6)),
    "known": lambda: partition_of_counts(known=[0, -1, 1, -1]),
    "only known": lambda: partition_of_counts(known=[0, -1, 1, -1], only_known=True),
    "together": lambda: partition_of_counts(together=[0, 0, 1, 2]),
    "one slot": lambda: slots(lambda z, a, b: [nrm.steps.SlotGibbs([z])]),
} | rows_of_wings("SOUND_KINDS", "comparison")


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_partition_is_compared(name, monkeypatch):
    found, check = [], ModelComparison.check

    def counted(self, *arguments):
        check(self, *arguments)
        found.append(self.n_compared)

    monkeypatch.setattr(ModelComparison, "check", counted)
    draw(Row(None, KINDS[name], None))
    assert min(found) >= 2


def test_a_random_log_probability_is_not_compared(caplog):
    def model():
        step = partition_of_counts()
        pm.Potential("random", pm.Normal.dist(0.0, 1.0))
        return [nrm.steps.MarginalGibbs([pm.modelcontext(None)["z"]])] if step else None

    draw(Row(None, model, None))
    assert "MarginalGibbs is not compared with the model, whose log-probability is random" in caplog.text


@pytest.mark.parametrize(("by_model", "by_step"), [(-np.inf, -0.1), (-0.1, -np.inf)])
def test_a_move_that_one_side_forbids(by_model, by_step, monkeypatch):
    """A constraint that a step does not see is an infinite difference, not a rounding error of any size."""
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
        nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 1.0), observed=[0, 1, 8])
        comparison = nrm.steps.MarginalGibbs([z]).comparison
    point = model.initial_point()
    move = OwnMove("an item moves", point, point | {"z": np.array([0, 1, 2])}, by_step)
    densities = {True: np.array([-3.0, 0.0]), False: np.array([-3.1, by_model])}
    monkeypatch.setattr(comparison, "_density_at", lambda place: densities[place is point])
    with pytest.raises(SamplingError, match="MarginalGibbs would not sample"):
        comparison._compare(move, 1e-6)


def test_the_comparison_is_left_out_on_request(monkeypatch):
    local_for_all_variables(monkeypatch)
    steps = lambda z, a, b: [pm.Slice([b]), nrm.steps.SlotNUTS([a], check_moves=False)]  # noqa: E731
    draw(Row(None, lambda: slots(steps), None))
    with pytest.raises(TypeError, match="check_moves must be True or False; got 'no'"), pm.Model():
        slots(lambda z, a, b: [nrm.steps.SlotGibbs([z], check_moves="no")])


@pytest.mark.parametrize(
    ("step", "needs"), [(nrm.steps.MarginalGibbs, Cautious), (nrm.steps.SliceSampler, Tempered)], ids=str
)
def test_a_subclass_lacks_what_must_agree_with_its_functions(step, needs):
    measure, family = (Cautious(1.0), None) if needs is Cautious else (None, Tempered(1.0, 0.2))
    message = f"{needs.__name__} has no .*{step.__name__} needs.* does not inherit them, since it redefines functions"
    with pytest.raises(NotImplementedError, match=message), pm.Model():
        partition_of_counts(measure, family, step)


def test_probabilities_are_read_from_a_generator():
    for k in (0, 1, 2**52, 2**53 - 1):
        assert generator_with_uniform(k).random() == k / 2**53
    for p in (1e-9, 0.3, 1.0 - 1e-6):
        assert probability(lambda rng, p=p: rng.random() < p) == pytest.approx(p, rel=1e-8)


MEASURES = [
    nrm.DirichletProcess(0.02),
    nrm.DirichletProcess(1e-8),
    nrm.PitmanYorProcess(0.0, 1e-4),
    nrm.DirichletProcess(300.0),
    nrm.NormalizedInverseGaussian(0.5),
    nrm.NormalizedGeneralizedGamma(2.0, 0.9),
    nrm.PitmanYorProcess(0.5, 1.0),
    nrm.PitmanYorProcess(0.9, 0.01),
    nrm.MixtureOfFiniteMixtures(1.0, 1.0),
]


@pytest.mark.parametrize("measure", MEASURES, ids=str)
@pytest.mark.parametrize("sizes", [[5], [3, 2], [1, 1, 1, 1, 1], [900, 80, 20]], ids=str)
def test_ratios_from_tables_are_ratios_of_partition_probabilities(measure, sizes):
    sizes = np.array(sizes)
    ratios, together = PartitionRatios(measure, int(sizes.sum())), np.array([sizes.sum()])
    assert ratios.log_integral(sizes) == pytest.approx(log_eppf(measure, sizes), abs=1e-7)
    expected = log_eppf(measure, sizes) - log_eppf(measure, together)
    assert ratios(together, sizes) == pytest.approx(expected, abs=1e-7)


def test_a_model_that_is_drawn_before_and_after_an_edit_of_its_family_is_sound():
    edited = type("EditedBetween", (nrm.PoissonGamma,), {"__slots__": ()})
    edited.log_marginal, edited.log_likelihood = functions_to_the(1.0)
    options = {"progressbar": False, "quiet": True, "compute_convergence_checks": False, "random_seed": 1}
    with pm.Model() as model:
        [step] = partition_of_counts(family=edited(1.0, 0.2))
        nrm.sample(2, tune=0, chains=1, cores=1, step=[step], **options)
    edited.log_marginal, edited.log_likelihood = functions_to_the(0.3)
    with model:
        nrm.sample(2, tune=0, chains=1, cores=1, step=[nrm.steps.MarginalGibbs([model["z"]])], **options)
