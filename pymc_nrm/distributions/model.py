"""The argument ``model`` of functions that read a PyMC model."""

from pymc.model import Model, modelcontext


def checked_model(model):
    """The argument ``model``, or the model of the context where it is None.

    Raises
    ------
    TypeError
        If it is no model, or None outside of a context.
    """
    context = modelcontext(None) if model is None and Model.get_context(error_if_none=False) else model
    if not isinstance(context, Model):
        raise TypeError(f"model must be a pymc.Model, or None in the context of one; got {model!r}")
    return context
