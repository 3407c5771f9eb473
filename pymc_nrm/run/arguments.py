"""Arguments of a run: checks, and defaults of numbers of draws, chains and cores and of the seed."""

import importlib.util
import logging

from pymc.util import get_random_generator, get_state_from_generator, random_generator_from_state

from pymc_nrm.common.checks import check_count, random_generator
from pymc_nrm.common.pymc_internals import default_chains, flatten_steps
from pymc_nrm.kernels.compilation import usable_cores
from pymc_nrm.models.rvs import n_items, names_in_chunks, partitions_of
from pymc_nrm.run.kept_draws import DEFAULT_FORM, LABEL_STORAGE, without_defaults
from pymc_nrm.stats.point_estimate import MANY_ITEMS

# A child of PyMC's logger, which shows messages of level INFO.
_log = logging.getLogger("pymc.nrm_progress")

# Default numbers of draws and of draws of tuning; the second if a partition has more than MANY_ITEMS items.
DRAWS, DRAWS_OF_MANY = 1000, 250
# Default number of chains with a client, as in pm.sample on a machine with at least four processors.
CHAINS_OF_CLIENT = 4


def largest_partition(model):
    """Name and number of items of the partition with the most items; None and 0 without a partition."""
    items = {partition.name: n_items(partition) for partition in partitions_of(model)}
    name = max(items, key=items.get, default=None)
    return name, items.get(name, 0)


def with_numbers_of_draws(model, draws, kwargs):
    """Numbers of draws and of draws of tuning, by default fewer if a partition has many items; both are checked."""
    _, n = largest_partition(model)
    default = DRAWS_OF_MANY if n > MANY_ITEMS else DRAWS
    draws = default if draws is None else draws
    check_count("draws", draws, 0)
    if kwargs.get("tune") is None:
        kwargs = {**kwargs, "tune": max([default, *_tune_steps_asked_for(kwargs.get("step"))])}
    check_count("tune", kwargs["tune"], 0)
    return draws, kwargs


def _tune_steps_asked_for(step):
    """Draws of tuning that the given steps ask for by ``default_tune_steps``, as steps of PyMC 6.4 may."""
    steps = step if isinstance(step, list | tuple) else [] if step is None else [step]
    asked = [getattr(flat, "default_tune_steps", None) for given in steps for flat in flatten_steps(given)]
    return [number for number in asked if number is not None]


def check_sampling(model, label_storage, kwargs):
    """Check arguments that PyMC would refuse late, or without their names, or not at all."""
    if not isinstance(label_storage, str) or label_storage not in LABEL_STORAGE:
        raise ValueError(f"label_storage must be one of {', '.join(map(repr, LABEL_STORAGE))}; got {label_storage!r}")
    for name in ("chains", "cores"):
        if kwargs.get(name) is not None:
            check_count(name, kwargs[name], 1)
    random_generator(kwargs.get("random_seed"))
    nuts_sampler = kwargs.get("nuts_sampler")
    if nuts_sampler not in (None, "pymc"):
        for partition in partitions_of(model):
            raise ValueError(
                f"nuts_sampler={nuts_sampler!r} cannot sample the partition {partition.name!r}; "
                "allowed is 'pymc', the default"
            )


def with_canonical_labels(initvals, model):
    """Initial values with labels of partitions renamed in order of appearance."""
    if isinstance(initvals, dict):
        return _with_canonical_labels(initvals, model)
    starts = initvals if isinstance(initvals, list | tuple) else [initvals]
    if not all(start is None or isinstance(start, dict) for start in starts):
        raise TypeError(f"initvals must be a dict of values, or a list of one for each chain; got {initvals!r}")
    return None if initvals is None else [start and _with_canonical_labels(start, model) for start in starts]


def _with_canonical_labels(values, model):
    """Initial values of one chain, with labels of partitions renamed in order of appearance."""
    known = {variable.name for variable in (*model.free_RVs, *model.value_vars)}
    renamed, kinds, in_chunks = {}, partitions_of(model), names_in_chunks(model)
    for name, value in values.items():
        if isinstance(name, str) and name not in known:
            raise ValueError(f"initvals must be of free variables of the model, {sorted(known)}; got {name!r}")
        variable = model.named_vars.get(name) if isinstance(name, str) else name
        if variable not in kinds and getattr(variable, "name", None) in in_chunks:
            raise ValueError(
                f"initvals[{name!r}] must be None: its sums follow from labels of all rows, initvals[{in_chunks[0]!r}]"
            )
        if variable in kinds and not isinstance(value, str):
            value = kinds[variable].renamed(value, n_items(variable), f"initvals[{name!r}]")
        renamed[name] = value
    return renamed


def number_of_chains(arguments, client=None):
    """Number of chains in arguments of ``pm.sample``, or its default."""
    if arguments.get("chains") is not None:
        return arguments["chains"]
    return default_chains(arguments.get("cores")) if client is None else CHAINS_OF_CLIENT


def settled(arguments, client=None):
    """Arguments with the number of chains, and with the state of a random generator as seed."""
    state = get_state_from_generator(get_random_generator(arguments.get("random_seed")))
    return arguments | {"chains": number_of_chains(arguments, client), "random_seed": state}


def with_generator(arguments):
    """Settled arguments with the random generator of this state."""
    return arguments | {"random_seed": random_generator_from_state(arguments["random_seed"])}


def on_usable_cores(kwargs):
    """Arguments with as many chains at a time as there are usable processors, unless ``cores`` is given."""
    if kwargs.get("cores") is not None:
        return kwargs
    chains = default_chains(None) if kwargs.get("chains") is None else kwargs["chains"]
    return {**kwargs, "chains": chains, "cores": min(chains, usable_cores())}


def with_possible_bar(kwargs, quiet):
    """Arguments without a progress bar where PyMC cannot draw it: it needs matplotlib, which PyMC does not install."""
    if kwargs.get("progressbar") is False or importlib.util.find_spec("matplotlib") is not None:
        return kwargs
    if not quiet:
        _log.info("No progress bar: PyMC draws it with matplotlib, which is not installed.")
    return {**kwargs, "progressbar": False}


def in_sequence(kwargs, in_chunks, client):
    """Arguments for chains over rows in chunks, whose labels are in this process and whose passes run on threads.

    ``in_chunks`` are the names of the partition and of its mixtures.
    """
    what = f"{in_chunks[0]!r}, a partition of rows in chunks"
    if client is not None:
        raise ValueError(
            f"client must be None for {what}; Chunks(X, client=client) runs one chain on all workers. Got {client}"
        )
    if kwargs.get("cores") not in (None, 1):
        raise ValueError(
            f"cores must be 1 for {what}, whose chains run one after the other on n_threads of Chunks; got "
            f"{kwargs['cores']}"
        )
    for name in without_defaults(kwargs, DEFAULT_FORM):
        raise ValueError(f"{name} must be {DEFAULT_FORM[name]}, its default, for {what}; got {kwargs[name]!r}")
    options = kwargs.get("idata_kwargs") or {}
    for name in ("log_likelihood", "log_prior"):
        if options.get(name):
            raise ValueError(f"{name} of idata_kwargs must be False for {what}, since draws do not hold its value")
    if not set(in_chunks).isdisjoint(options.get("dims") or {}):
        raise ValueError(f"dims of idata_kwargs must leave out {what}, and its mixtures; got {options['dims']}")
    return {**kwargs, "cores": 1, "chains": default_chains(None) if kwargs.get("chains") is None else kwargs["chains"]}
