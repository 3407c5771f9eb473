"""What a run keeps of its draws, and whether PyMC keeps them instead."""

from typing import Any, NamedTuple

from pymc_nrm.models.rvs import partitions_of

# How labels may be kept.
LABEL_STORAGE = ("full", "compact", "none")
# Arguments with whose defaults this package keeps the draws, without and with checkpoints.
DEFAULT_FORM = {"trace": None, "return_inferencedata": True}
DEFAULT_FORM_WITH_CHECKPOINTS = DEFAULT_FORM | {"nuts_sampler_kwargs": None}
# Arguments of ``pm.sample`` that have no meaning where a client runs the chains.
_OF_THIS_MACHINE = ("cores", "mp_ctx", "callback", "progressbar_theme")


class Kept(NamedTuple):
    """What a run keeps of its draws."""

    draws: int
    label_storage: str
    thin: int
    # Observed variables whose log-likelihoods are added to the result.
    log_likelihood: list
    keep_warmup: bool = False
    keep_warning_stat: bool = False
    var_names: Any = None
    # True, or names of variables, if their log prior densities are added.
    log_prior: Any = False
    # Other options of ``pm.to_inference_data``.
    idata_kwargs: Any = ()


def kept_draws(model, arguments, client, folder):
    """Split arguments of a run into what it keeps and arguments of ``pm.sample``.

    Also returns whether PyMC keeps the draws itself, as for models without a partition and results in other forms.
    """
    kwargs = dict(arguments)
    draws, label_storage, thin = (kwargs.pop(name) for name in ("draws", "label_storage", "thin"))
    kwargs.pop("label_path", None)
    options = dict(kwargs.get("idata_kwargs") or {})
    for name in ("log_likelihood", "log_prior"):
        if label_storage == "none" and options.get(name):
            raise ValueError(f"{name} of idata_kwargs must be False with label_storage='none': it needs labels")
    partitions = partitions_of(model)
    by_pymc = _is_kept_by_pymc(partitions, label_storage, thin, client, folder, kwargs)
    likelihoods = [] if by_pymc and not partitions else _observed_names(model, options.pop("log_likelihood", False))
    if by_pymc:
        kwargs |= {"idata_kwargs": options} if likelihoods else {}
        return Kept(draws, label_storage, thin, likelihoods), kwargs, True
    for name in ("trace", "return_inferencedata", "idata_kwargs", *(() if client is None else _OF_THIS_MACHINE)):
        kwargs.pop(name, None)
    save_warmup, discard = options.pop("save_warmup", True), kwargs.pop("discard_tuned_samples", True)
    kept = Kept(
        draws,
        label_storage,
        thin,
        likelihoods,
        keep_warmup=save_warmup and not discard,
        keep_warning_stat=kwargs.pop("keep_warning_stat", False),
        var_names=[names] if isinstance(names := kwargs.pop("var_names", None), str) else names,
        log_prior=options.pop("log_prior", False),
        idata_kwargs=options,
    )
    return kept, kwargs, False


def _is_kept_by_pymc(partitions, label_storage, thin, client, folder, kwargs):
    """Whether PyMC keeps the draws itself."""
    if not partitions:
        asked = {f"{label_storage=}": label_storage != "full", "client": client, "checkpoint": folder}
        for what in (name for name, value in asked.items() if value):
            raise ValueError(f"{what} is for models with a free partition; this model has none")
    reason = "a client" if client is not None else "checkpoint" if folder is not None else f"{label_storage=}, {thin=}"
    changed = client is not None or folder is not None or (label_storage, thin) != ("full", 1)
    allowed = DEFAULT_FORM if folder is None else DEFAULT_FORM_WITH_CHECKPOINTS
    if client is not None:
        allowed = allowed | dict.fromkeys(_OF_THIS_MACHINE)
    other = without_defaults(kwargs, allowed)
    if other and changed:
        raise ValueError(f"{other[0]} must be {allowed[other[0]]}, its default, with {reason}")
    return bool(other) or not (partitions or changed)


def without_defaults(kwargs, defaults):
    """Names of the arguments that are not their defaults."""
    return [name for name, default in defaults.items() if kwargs.get(name, default) is not default]


def _observed_names(model, wanted):
    """Names of the observed variables for which ``log_likelihood`` of ``idata_kwargs`` asks."""
    observed = [rv.name for rv in model.observed_RVs]
    names = observed if wanted is True else [wanted] if isinstance(wanted, str) else list(wanted or [])
    unknown = [name for name in names if name not in observed]
    if unknown:
        raise ValueError(f"log_likelihood of idata_kwargs must name observed data, {observed}; got {unknown[0]!r}")
    return names
