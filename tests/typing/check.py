"""Check with mypy and pyright what users write: the scripts of this folder, and a user's own family.

Run from the root of the repository: ``python -m uv run tests/typing/check.py``.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[2]
CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(?::[^\n]*\n)*\n*(.*?)^```", re.DOTALL | re.MULTILINE)


def main():
    """Run both checkers; the exit code is 0 if neither found anything."""
    with tempfile.TemporaryDirectory() as folder:
        own_family = pathlib.Path(folder) / "add_a_family.py"
        cells = CELL.findall((ROOT / "docs" / "how-to" / "add-a-family.md").read_text(encoding="utf-8"))
        own_family.write_text("\n".join(cells), encoding="utf-8")
        targets = [str(path) for path in [*sorted((ROOT / "tests" / "typing").glob("*.py")), own_family]]
        commands = [
            [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), *targets],
            [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, *targets],
        ]
        sys.exit(max(subprocess.run(command, cwd=ROOT).returncode for command in commands))


if __name__ == "__main__":
    main()
