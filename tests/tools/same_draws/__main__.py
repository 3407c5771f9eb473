"""Whether draws of fixed seeds are the same before and after a change of the code.

``python -m tests.tools.same_draws --write FILE.npz`` writes draws, predictions and summaries of small models of every
kind of partition, with every step, family and measure; ``--compare FILE.npz`` says which of them differ now, ``--only
REGEX`` runs some cases.  Kernels and graphs run in Python, so that nothing is compiled.
"""

import argparse
import logging
import math
import re
import sys
import time
import traceback
import warnings
from types import SimpleNamespace

import numpy as np
import pytensor
from pytensor.compile.mode import Mode

from pymc_nrm.families.erased.shared_kernel import SharedKernel
from pymc_nrm.kernels.generic import Kernel
from tests.tools.same_draws.cases import CASES

TOLERANCE = 1e-9
_exp = math.exp


def without_compilation():
    """Run all kernels, and all functions of PyTensor, in Python."""

    def interpreted(self):
        function = self.__wrapped__
        return SimpleNamespace(py_func=function, compile=lambda types: None, typeof_pyval=type, signatures=[])

    def exp(x):
        try:
            return _exp(x)
        except OverflowError:
            return math.inf

    math.exp = exp  # as in compiled kernels
    Kernel.__call__ = lambda self, *arguments: self.__wrapped__(*arguments)
    Kernel.dispatcher = property(interpreted)
    SharedKernel.passed = Kernel.passed
    pytensor.config.mode = Mode(linker="py", optimizer="fast_compile")


def results(pattern):
    """Arrays of all cases whose name matches, and the errors of those that failed."""
    found, errors = {}, {}
    for name in filter(re.compile(pattern).search, CASES):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for key, value in CASES[name]().items():
                    value = np.asarray(value)  # without the metadata of dtypes, which numpy cannot store
                    found[f"{name}/{key}"] = value.astype(value.dtype.str)
        except Exception as error:
            errors[name] = error
            found[f"{name}/error"] = np.array(type(error).__name__)
    return found, errors


def differences(before, now):
    for name, old in before.items():
        new = now.get(name)
        if new is None or new.shape != old.shape:
            yield f"{name} is missing" if new is None else f"{name} has shape {new.shape}, not {old.shape}"
            continue
        same = new == old if old.dtype.kind == "U" else np.isclose(old, new, TOLERANCE, TOLERANCE, equal_nan=True)
        for where in np.argwhere(~same)[:1]:
            yield f"{name} at {where.tolist()} is {new[tuple(where)]}, not {old[tuple(where)]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write")
    parser.add_argument("--compare")
    parser.add_argument("--only", default="")
    parser.add_argument("--traceback", action="store_true")
    options = parser.parse_args()
    without_compilation()
    logging.getLogger("pymc").setLevel(logging.CRITICAL)
    begun = time.perf_counter()
    found, errors = results(options.only)
    seconds = time.perf_counter() - begun
    if options.write:
        np.savez_compressed(options.write, **found)
    lines = []
    if options.compare:
        ran = tuple(f"{name}/" for name in CASES if re.search(options.only, name))
        with np.load(options.compare) as file:
            before = {name: file[name] for name in file.files}
        lines = list(differences({name: old for name, old in before.items() if name.startswith(ran)}, found))
        errors = {name: error for name, error in errors.items() if f"{name}/error" not in before}
        print("\n".join(lines))
    for name, error in errors.items() if options.compare or options.traceback else ():
        print(f"{name} failed: {type(error).__name__}: {str(error)[:300]}")
        if options.traceback:
            traceback.print_exception(error)
    refused = "fail that did not" if options.compare else "are refused"
    print(f"{len(found)} arrays in {seconds:.0f} s, {len(lines)} differ, {len(errors)} cases {refused}")
    return bool(lines or (options.compare and errors))


if __name__ == "__main__":
    sys.exit(main())
