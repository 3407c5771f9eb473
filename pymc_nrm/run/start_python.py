"""Start Python in another process, in which it finds the modules that this one finds."""

import os
import subprocess
import sys


def start_python(*arguments):
    """The process, without input and output; None if the system starts none."""
    # Modules that lie beside a script are found there too; -P adds no other folder.
    paths = os.pathsep.join(place or os.getcwd() for place in sys.path)
    try:
        return subprocess.Popen(
            [sys.executable, "-P", *arguments],
            env=os.environ | {"PYTHONPATH": paths},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None
