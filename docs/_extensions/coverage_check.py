"""Every public name has a place in the reference, and names in docstrings lead there."""

import importlib
import inspect

import pymc_nrm
from sphinx.util import logging
from sphinx.util.nodes import make_refnode

from inventory import GROUPS, entries, exports

_log = logging.getLogger(__name__)


def setup(app):
    """Connect the check of the reference and the search for names."""
    app.connect("env-check-consistency", _check)
    app.connect("missing-reference", _resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _check(app, env):
    """Warn, which is an error in the usual build, of exported names without a description."""
    described = env.get_domain("py").objects
    names = {id(entry.thing): entry.name for entry in entries()}
    places = ["pymc_nrm", *[module for spec in GROUPS.values() for module in spec.modules]]
    for module in [getattr(pymc_nrm, name) for name in pymc_nrm.__all__]:
        if inspect.ismodule(module) and module.__name__ not in places:
            _log.warning("%s is exported and has no group in docs/_extensions/inventory.py", module.__name__)
    for place in places:
        for name, thing in exports(place):
            if names.get(id(thing)) not in described:
                _log.warning("%s.%s is exported and has no page in the reference", place, name)


def _resolve(app, env, node, content):
    """Find objects that a docstring calls by another name than that of their page."""
    if node.get("refdomain") != "py" or not node.get("reftarget"):
        return None
    described = env.get_domain("py").objects
    names = {id(entry.thing): entry.name for entry in entries()}
    target = node["reftarget"]
    for full in (target, f"{node.get('py:module') or 'pymc_nrm'}.{target}"):
        owner, thing, attributes = _import(full)
        for candidate in (names.get(id(thing)), f"{names.get(id(owner))}.{attributes}" if attributes else None):
            if candidate in described:
                entry = described[candidate]
                return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, content, candidate)
    if node["reftype"] == "mod":
        for group, spec in GROUPS.items():
            if any(f"{target}.".startswith(f"{module}.") for module in spec.modules):
                return make_refnode(app.builder, node["refdoc"], f"reference/generated/{group}", None, content)
    if target.startswith("pymc_nrm"):
        _log.warning("%s has no page in the reference", target, location=node)
    return None


def _import(full):
    """The owner of a dotted name, what it names, and the last part if the owner is a class."""
    parts = full.split(".")
    for length in range(len(parts), 0, -1):
        try:
            thing = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        owner = None
        for part in parts[length:]:
            owner, thing = thing, getattr(thing, part, None)
        return owner, thing, parts[-1] if isinstance(owner, type) else None
    return None, None, None
