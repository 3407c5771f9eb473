"""What the parts of the benchmarks share; importing it limits linear algebra to one thread, unless told otherwise."""

import os

ONE_CORE = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

for _name, _value in ONE_CORE.items():
    os.environ.setdefault(_name, _value)
