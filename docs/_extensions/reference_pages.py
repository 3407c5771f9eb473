"""Reference pages, one for each public object and an index for each group, all from two templates."""

import functools
import inspect
from pathlib import Path

import jinja2
import numpy as np
from pymc.step_methods.compound import BlockedStep
from pymc_nrm.families.arguments import broadcast_hyperparameters
from pymc_nrm.families.base import statistics_size
from pymc_nrm.measures.base import n_clusters_mean
from sphinx.ext.napoleon import NumpyDocstring

from inventory import GROUPS, entries, short_names
from stability import provisional_table, stable_table

_N, _D, _L = 5, 3, 4  # sizes of an example, all different, from which shapes are read


def setup(app):
    """Write the reference before Sphinx reads it."""
    app.connect("builder-inited", _write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _write_pages(app):
    folder = Path(app.srcdir) / "reference" / "generated"
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(app.srcdir) / "_templates"),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    everything = entries()
    groups = {group: [entry for entry in everything if entry.group == group] for group in GROUPS}
    pages = {"overview.txt": templates.get_template("overview.txt.jinja").render(groups=groups, specs=GROUPS)}
    pages |= {"stable.txt": stable_table(), "provisional.txt": provisional_table()}
    for group, members in groups.items():
        spec = GROUPS[group]
        pages[f"{group}.md"] = templates.get_template("group.md.jinja").render(
            group=group, spec=spec, entries=[(entry.page, entry) for entry in members]
        )
        for entry in members:
            facts = _FACTS.get(group, lambda cls: {})(entry.thing)
            pages[f"{group}/{entry.page}.md"] = templates.get_template("object.md.jinja").render(
                entry=entry,
                directive=_directive(entry.thing),
                members=_members(entry.thing),
                body=_body(entry.thing, app.config),
                signature=_signature(entry.thing),
                others=short_names(entry),
                file=_file(entry),
                **facts,
            )
    write_folder(folder, pages)


def write_folder(folder, pages):
    """Make a folder hold these pages and no others; pages that do not change keep their time of change."""
    for path in [path for path in folder.rglob("*.*") if path.relative_to(folder).as_posix() not in pages]:
        path.unlink()
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _directive(thing):
    if _is_generic(thing):
        return "py:function"
    return "autoclass" if isinstance(thing, type) else "autofunction"


def _is_generic(thing):
    return hasattr(thing, "registry") and hasattr(thing, "dispatch")


def _body(thing, config):
    """Docstring of a generic function, of which autodoc would list every implementation; empty for all others."""
    return NumpyDocstring(inspect.getdoc(thing), config).lines() if _is_generic(thing) else []


def _members(thing):
    """Names of the methods and properties of a class that are described: those of its own with a docstring."""
    if not isinstance(thing, type) or issubclass(thing, BlockedStep):
        return []
    fields = getattr(thing, "_fields", ())
    return [
        name
        for name, member in vars(thing).items()
        if not name.startswith("_") and name not in fields and inspect.getdoc(member) and _is_code(member)
    ]


def _is_code(member):
    if isinstance(member, type):
        return False
    return callable(member) or isinstance(member, classmethod | staticmethod | property | functools.cached_property)


def _signature(thing):
    """Arguments of a step, whose class hides them, or of a generic function; empty for all others."""
    if _is_generic(thing):
        return str(inspect.signature(thing))
    if not isinstance(thing, type) or not issubclass(thing, BlockedStep):
        return ""
    signature = inspect.signature(thing.__init__)
    return str(signature.replace(parameters=list(signature.parameters.values())[1:]))


def _file(entry):
    source = inspect.unwrap(entry.thing)
    module = inspect.getmodule(source)
    return module.__name__.replace(".", "/") + ".py"


def _hyperparameters(cls, shape):
    return [
        {
            "name": name,
            "shape": shape(spec.core),
            "support": spec.support.description,
            "default": _default(cls, name),
        }
        for name, spec in cls.hyperparameters.items()
    ]


def _default(cls, name):
    value = cls._field_defaults.get(name, "none: must be given")
    return "see above" if value is None else value


def _shape(axes):
    return f"({', '.join(axes)}{',' if len(axes) == 1 else ''})" if axes else "scalar"


def _measure_facts(cls):
    defaults = cls()
    return {
        "hyperparameters": _hyperparameters(cls, lambda core: "scalar"),
        "defaults": ", ".join(f"{name} = {value}" for name, value in defaults._asdict().items()),
        "n_clusters": [(n, f"{n_clusters_mean(defaults, n):.2f}") for n in (10, 100, 1000)],
    }


def _family_facts(cls):
    full = broadcast_hyperparameters(cls(**{name: _example(cls, name) for name in cls._fields}), _N, _D)
    return {
        "hyperparameters": _hyperparameters(cls, _shape),
        "shapes": {name: _shape(axes) for name, axes in cls.parameters.items()},
        "statistics": _comment(cls, "A row of statistics: "),
        "size": (int(statistics_size(full)), _D, _L if any("l" in h.core for h in cls.hyperparameters.values()) else 0),
        "continuous": cls.continuous,
        "missing_allowed": cls.missing_allowed,
    }


def _example(cls, name):
    """A value in the support of a hyperparameter, in its full shape."""
    spec = cls.hyperparameters[name]
    sizes = {"n": _N, "d": _D, "l": _L, "p": _D}
    shape = [sizes[axis] for axis in spec.core]
    if spec.support.name == "positive definite":
        return np.eye(shape[0])
    values = {"greater than d - 1": _D + 1.0, "unit interval": 0.5, "zero or one": 1.0}
    return np.full(shape, values.get(spec.support.name, float(_L)))


def _comment(cls, start):
    """The first sentence of the comment, in the file of a class, that begins with these words."""
    lines = [line.strip() for line in inspect.getsource(inspect.getmodule(cls)).splitlines()]
    places = [k for k, line in enumerate(lines) if line.startswith(f"# {start}")]
    if not places:
        raise ValueError(f"the file of {cls.__name__} has no comment that begins with {start!r}")
    text = []
    for line in lines[places[0] :]:
        if not line.startswith("# "):
            break
        text.append(line[2:])
    return " ".join(text)[len(start) :].split(". ")[0].rstrip(".")


def _sampler_facts(cls):
    # SlotNUTS samples parameters and no partition.
    common = list(getattr(cls, "common_stats", []))
    own = [name for name in cls.stats_dtypes_shapes if name not in common]
    return {
        "step_name": cls.name,
        "common_stats": common,
        "own_stats": own,
        "options": [
            {"name": name, "default": parameter.default}
            for name, parameter in inspect.signature(cls.__init__).parameters.items()
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY and name != "model"
        ],
    }


_FACTS = {
    "measures": _measure_facts,
    "families": _family_facts,
    "samplers": _sampler_facts,
    "published": _sampler_facts,
}
