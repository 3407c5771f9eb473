"""Install a wheel into an empty environment and run the program of the README there, without its picture.

``python packaging/check_wheel.py dist/pymc_nrm-*.whl "pymc==6.3.1"``; the second argument is a requirement of PyMC.
"""

import os
import re
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main():
    """Exit with an error if the wheel has more than the packages, or its program fails."""
    wheel, pymc = Path(sys.argv[1]).resolve(), sys.argv[2]
    folders = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    packages = {"pymc_nrm", "pymc_nrm_predictor"}
    others = {name for name in folders if name not in packages and not name.endswith(".dist-info")}
    if others:
        sys.exit(f"{wheel.name} has more than the packages: {sorted(others)}")
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    program = "\n".join(line for line in blocks[0].splitlines() if "nrm.plots" not in line)
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder, "Scripts" if os.name == "nt" else "bin", "python")
        subprocess.run([python, "-m", "pip", "install", "--quiet", str(wheel), pymc], check=True)
        script = Path(folder, "six_lines.py")
        versions = "import pymc\nimport pymc_nrm\n\nprint(pymc.__version__, pymc_nrm.__version__)\n"
        script.write_text(versions + _guarded(program))
        subprocess.run([python, script], check=True, cwd=folder)


def _guarded(program):
    """The program below a guard, which processes that are spawned need."""
    imports, rest = program.split("\n\n", 1)
    return f"{imports}\n\nif __name__ == '__main__':\n" + "\n".join(f"    {line}" for line in rest.splitlines()) + "\n"


if __name__ == "__main__":
    main()
