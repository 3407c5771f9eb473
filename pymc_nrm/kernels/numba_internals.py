"""What the kernels use of numba beyond its documented interface, and what they do without it."""

import functools
import importlib
import warnings

# The first and the last version with which the tests of kernels, of their cache, and of their laws were run.
FIRST, LAST = (0, 61), (0, 68)

CACHE = {
    "numba.core.caching": {
        "CompileResultCacheImpl": ("rebuild",),
        "FunctionCache": ("_impl_class", "_index_key", "load_overload", "save_overload"),
        "IndexDataCacheFile": (
            *("save", "load", "_load_index", "_save_index", "_load_data", "_save_data"),
            *("_data_name", "_data_path", "_dump", "_open_for_write"),
        ),
    },
}
COMPILER = {
    "numba._dynfunc": {"make_function": ()},
    "numba.core.codegen": {
        "JITCodeLibrary": (
            *("_optimize_final_module", "_finalize_final_module", "_finalize_dynamic_globals"),
            *("_verify_declare_only_symbols", "_ensure_finalized", "_unserialize"),
            *("serialize_using_bitcode", "serialize_using_object_code"),
        ),
    },
    "numba.core.compiler": {
        "Compiler": ("define_pipelines", "_compile_core"),
        "CompileResult": ("_find_referenced_environments", "_replace"),
    },
    "numba.core.targetconfig": {"ConfigStack": ("top",)},
}


def lacking_names(used):
    """Names of a table such as ``COMPILER`` that the installed numba does not have."""
    found = []
    for module_name, classes in used.items():
        try:
            module = importlib.import_module(module_name)
        except ImportError:
            found.append(module_name)
            continue
        for name, attributes in classes.items():
            thing = getattr(module, name, None)
            missing = [None] if thing is None else [one for one in attributes if not hasattr(thing, one)]
            found += [".".join(filter(None, [module_name, name, one])) for one in missing]
    return found


@functools.cache
def are_known():
    """Whether the installed numba is a version whose internals are known; if not, warn once."""
    import numba

    version = tuple(int(part) for part in numba.__version__.split(".")[:2])
    lacking = lacking_names(CACHE | COMPILER)
    if FIRST <= version <= LAST and not lacking:
        return True
    tried = " to ".join(".".join(map(str, one)) for one in (FIRST, LAST))
    reason = f"lacks {', '.join(lacking)}" if lacking else f"is not among the versions that were tried, {tried}"
    cache = "are not kept on disk" if lacking_names(CACHE) else "are kept on disk as usual"
    warnings.warn(
        f"numba {numba.__version__} {reason}. Kernels are compiled by numba's own compiler, which takes longer, and "
        f"{cache}",
        RuntimeWarning,
        stacklevel=2,
    )
    return False
