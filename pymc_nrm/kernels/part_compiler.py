"""Undocumented names of numba, and a compiler that uses them to compile kernels as parts of others."""

import contextlib
import functools
import gc
import importlib
import warnings
from types import SimpleNamespace

# First and last version of numba with which the tests of kernels, their cache, and their distributions were run.
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
    lacking = []
    for module_name, classes in used.items():
        try:
            module = importlib.import_module(module_name)
        except ImportError:
            lacking.append(module_name)
            continue
        for name, attributes in classes.items():
            thing = getattr(module, name, None)
            missing = (
                [None] if thing is None else [attribute for attribute in attributes if not hasattr(thing, attribute)]
            )
            lacking += [".".join(filter(None, [module_name, name, attribute])) for attribute in missing]
    return lacking


@functools.cache
def are_known():
    """Whether the installed numba is a version with known internals; if not, warn once."""
    import numba

    version = tuple(int(part) for part in numba.__version__.split(".")[:2])
    lacking = lacking_names(CACHE | COMPILER)
    if FIRST <= version <= LAST and not lacking:
        return True
    tried = " to ".join(".".join(map(str, version)) for version in (FIRST, LAST))
    reason = f"lacks {', '.join(lacking)}" if lacking else f"is not among the tested versions, {tried}"
    cache = "are not kept on disk" if lacking_names(CACHE) else "are kept on disk as usual"
    warnings.warn(
        f"numba {numba.__version__} {reason}. Kernels are compiled by numba's own compiler, which takes longer, and "
        f"{cache}",
        RuntimeWarning,
        stacklevel=2,
    )
    return False


@functools.cache
def compilers():
    """Subclasses of numba's classes, made when numba is first needed.

    Numba translates each function into intermediate code, links the functions it calls, optimises the result, and
    generates machine code::

        whole  --->  intermediate code  --->  optimised  --->  machine code
                           ^ linked into
        part   --->  intermediate code  (--->  optimised)

    A function that only other compiled functions call is linked into these as intermediate code, and its machine code
    would never run.  Generating it took a third of the time of compilation. The result also has ``WholeCompiler`` for
    functions that Python calls, and a cache for the intermediate code of parts.
    """
    from llvmlite import binding
    from numba import _dynfunc
    from numba.core.caching import CompileResultCacheImpl
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler, CompileResult
    from numba.core.targetconfig import ConfigStack

    def share_callees():
        # Numba recompiles a callee for callers with other flags, which need not agree on wrappers.
        flags = ConfigStack().top()
        flags.no_cpython_wrapper, flags.no_cfunc_wrapper = True, False

    class PartLibrary(JITCodeLibrary):
        """Intermediate code that the engine for machine code never receives."""

        optimises = True

        def _optimize_final_module(self):
            if self.optimises:
                super()._optimize_final_module()

        def _finalize_final_module(self):
            self._finalize_dynamic_globals()
            self._verify_declare_only_symbols()
            self._finalized = True

        def serialize_using_object_code(self):
            return self.serialize_using_bitcode()

        @classmethod
        def _unserialize(cls, codegen, state):
            name, _, bitcode = state
            library = cls(codegen, name)
            library._final_module = binding.parse_bitcode(bitcode)
            library._finalize_final_module()
            return library

    def entry_point(library, description, environment):
        # Callers name the function by this object; its machine code is null.
        name = description.qualname.split(".")[-1]
        return _dynfunc.make_function(description.lookup_module(), name, "", 0, environment, (library,))

    class PartCompiler(Compiler):
        optimises = True

        def define_pipelines(self):
            share_callees()
            self.state.library = PartLibrary(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
            self.state.library.optimises = self.optimises
            self.state.flags.no_compile = True
            return super().define_pipelines()

        def _compile_core(self):
            result = super()._compile_core()
            result.library._ensure_finalized()
            entry = entry_point(result.library, result.fndesc, result.environment)
            result.target_context.insert_user_function(entry, result.fndesc, [result.library])
            return result._replace(entry_point=entry)

    class PartCompilerWithoutOptimisation(PartCompiler):
        optimises = False

    class WholeCompiler(Compiler):
        def define_pipelines(self):
            share_callees()
            return super().define_pipelines()

        def _compile_core(self):
            with _garbage_collection_paused():
                result = super()._compile_core()
            # Machine code finds the Python objects of its parts by addresses that only now exist.
            for environment in result._find_referenced_environments():
                result.codegen.set_env(environment.env_name, environment)
            return result

    class PartCacheImplementation(CompileResultCacheImpl):
        def rebuild(self, target_context, payload):
            libdata, description, environment, signature, objectmode, lifted, annotation, reload_init, others = payload
            for function in reload_init:
                function()
            library = PartLibrary._unserialize(target_context.codegen(), libdata)
            return CompileResult(
                target_context=target_context,
                typing_context=target_context.typing_context,
                library=library,
                environment=environment,
                entry_point=entry_point(library, description, environment),
                fndesc=description,
                type_annotation=annotation,
                signature=signature,
                objectmode=objectmode,
                lifted=lifted,
                typing_error=None,
                call_helper=None,
                metadata=None,
                reload_init=reload_init,
                referenced_envs=others,
            )

    return SimpleNamespace(
        PartCompiler=PartCompiler,
        PartCompilerWithoutOptimisation=PartCompilerWithoutOptimisation,
        WholeCompiler=WholeCompiler,
        PartCacheImplementation=PartCacheImplementation,
    )


@contextlib.contextmanager
def _garbage_collection_paused():
    """Pause garbage collection, which would take a tenth of the time of compilation."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
