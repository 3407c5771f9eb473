"""Outputs of the notebooks, which the documentation shows without running them.

``python -m uv run --extra docs python docs/_extensions/run_notebooks.py [NAMES]`` runs the notebooks of
``docs/notebooks`` and writes what their cells print and draw into them.
"""

import argparse
import os
import sys
from pathlib import Path

from written_outputs import OF_A_RUN

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
LIMIT = 180  # CPU seconds of a notebook, with nothing compiled
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def executed(path):
    """The notebook with fresh outputs, and the CPU seconds of its kernel; a cell that fails raises."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    notebook.metadata = nbformat.from_dict(_METADATA)
    before = os.times()
    NotebookClient(notebook, timeout=10 * LIMIT, kernel_name="python3").execute()
    after = os.times()
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    return clean(notebook), seconds


def clean(notebook):
    """A notebook without what differs from run to run: times, and the progress of compilation."""
    for k, cell in enumerate(notebook["cells"]):
        cell["id"], cell["metadata"] = f"cell-{k}", {}
        if cell["cell_type"] == "code":
            cell["outputs"] = [kept for output in cell["outputs"] if (kept := _without_times(output))]
    return notebook


def _without_times(output):
    """The output, or None if only times are left out of it; changed in place, since nbformat writes its own class."""
    if output["output_type"] == "stream":
        lines = [line for line in output["text"].splitlines(keepends=True) if not OF_A_RUN.search(line)]
        output["text"] = "".join(lines)
        return output if lines else None
    return output


def main():
    """Run the notebooks, all of them by default."""
    import nbformat

    names = sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", choices=[*names, []], help=", ".join(names))
    for name in parser.parse_args().names or names:
        path = NOTEBOOKS / f"{name}.ipynb"
        notebook, seconds = executed(path)
        nbformat.write(notebook, path)
        print(f"{name}: {seconds:.0f} CPU s, {path.stat().st_size // 1000} kB", file=sys.stderr)


if __name__ == "__main__":
    main()
