"""Modules of a package that are imported when they are first used."""

import importlib


def modules_on_demand(package, *names):
    """The function ``__getattr__`` of a package, which imports modules of these names."""

    def getattr_of_package(name):
        if name in names:
            return importlib.import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return getattr_of_package
