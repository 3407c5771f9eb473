"""Parameters of estimators by scikit-learn's conventions, without scikit-learn."""

import inspect
from typing import Any, Self


class Parameters:
    """Base of an estimator whose constructor stores each argument under its own name, unchanged."""

    @classmethod
    def _defaults(cls):
        signature = inspect.signature(cls.__init__)
        return {name: spec.default for name, spec in signature.parameters.items() if name != "self"}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self, **params: Any) -> Self:
        """Change arguments of the constructor; they are checked by ``fit``."""
        for name, value in params.items():
            if name not in self._defaults():
                raise ValueError(f"parameters of {type(self).__name__} are {', '.join(self._defaults())}; got {name!r}")
            setattr(self, name, value)
        return self

    def __repr__(self):
        changed = {name: getattr(self, name) for name, default in self._defaults().items()}
        shown = [f"{name}={value!r}" for name, value in changed.items() if repr(value) != repr(self._defaults()[name])]
        return f"{type(self).__name__}({', '.join(shown)})"
