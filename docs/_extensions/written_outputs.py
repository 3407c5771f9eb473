"""Outputs of code that a page shows where it is read without being built.

``python docs/_extensions/written_outputs.py [PAGES]`` runs the pages of :data:`PAGES` and writes what each cell prints,
and its pictures, between two comments below the cell; Sphinx leaves these parts out where it runs the cells itself.
"""

import ast
import contextlib
import io
import logging
import os
import re
import sys
import warnings
from pathlib import Path

DOCS = Path(__file__).parents[1]
PAGES = (
    "how-to/cluster-a-table",
    "how-to/are-there-clusters",
    "how-to/coming-from",
    *(
        f"how-to/coming-from/{name}"
        for name in ("hmmlearn", "markov-regression", "lcmm-and-flexmix", "stepmix-and-polca")
    ),
)
BEGIN, END = "<!-- output -->", "<!-- end of output -->"
_WRITTEN = re.compile(rf"\n{BEGIN}\n.*?\n{END}\n", re.DOTALL)
_CELL = re.compile(r"^```\{code-cell\} ipython3\n((?::[^\n]*\n)*)(.*?)^```\n", re.DOTALL | re.MULTILINE)
# Lines that differ from run to run.
OF_A_RUN = re.compile(r"took \d|^Compiling|^Sequential|^Multiprocess|the remaining")
_DPI = 80


def setup(app):
    """Leave written outputs out of what Sphinx reads if it runs the cells."""
    app.connect("source-read", _leave_out)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _leave_out(app, name, source):
    if app.config.nb_execution_mode != "off":
        source[0] = without_outputs(source[0])


def without_outputs(text):
    """The text of a page without the outputs that are written into it."""
    return _WRITTEN.sub("", text)


def with_outputs(text, page):
    """The text of a page with the outputs of its cells, and its pictures as bytes by file name."""
    names, pictures = {}, {}
    images, stem = "../" * page.count("/") + "images", page.rpartition("/")[2]

    def run(cell):
        printed, figures = _run(names, cell[2], "remove-stderr" not in cell[1])
        parts = [f"```text\n{printed}\n```"] if printed else []
        for figure in figures:
            name = f"{stem}-{len(pictures) + 1}.png"
            pictures[name] = figure
            parts.append(f"![What the code above draws]({images}/{name})")
        return cell[0] + ("\n" + "\n".join([BEGIN, "\n\n".join(parts), END]) + "\n" if parts else "")

    return _CELL.sub(run, without_outputs(text)), pictures


def _run(names, code, keeps_log):
    import matplotlib.pyplot as plt

    tree, out, already_open = ast.parse(code), io.StringIO(), set(plt.get_fignums())
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    handler = logging.StreamHandler(out if keeps_log else io.StringIO())
    handler.addFilter(lambda record: not OF_A_RUN.search(record.getMessage()))
    parents = [logging.getLogger(name) for name in ("pymc", "pymc_nrm")]
    others = [(list(parent.handlers), parent.level) for parent in parents]
    for parent in parents:
        parent.handlers[:] = [handler]
        # PyMC leaves its level to programs that have set up logging before.
        parent.setLevel(logging.INFO)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(tree, "page", "exec"), names)
            if last is not None:
                value = eval(compile(ast.Expression(last.value), "page", "eval"), names)
                if value is not None and not code.rstrip().endswith(";"):
                    print(repr(value))
    finally:
        for parent, (handlers, level) in zip(parents, others, strict=True):
            parent.handlers[:] = handlers
            parent.setLevel(level)
    figures = []
    for number in sorted(set(plt.get_fignums()) - already_open):
        figures.append(_picture(plt.figure(number)))
        plt.close(number)
    return "\n".join(line.rstrip() for line in out.getvalue().rstrip().splitlines()), figures


def _picture(figure):
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=_DPI, bbox_inches="tight", metadata={"Software": None})
    return file.getvalue()


def main():
    """Write the outputs of all pages, or of those that are named."""
    os.environ.setdefault("MPLBACKEND", "agg")
    for page in [page for page in PAGES if not sys.argv[1:] or page in sys.argv[1:]]:
        path = DOCS / f"{page}.md"
        text, pictures = with_outputs(path.read_text(encoding="utf-8"), page)
        path.write_text(text, encoding="utf-8")
        for name, content in pictures.items():
            (DOCS / "images" / name).write_bytes(content)
        print(f"{page}: {text.count(BEGIN)} outputs, {len(pictures)} pictures", file=sys.stderr)


if __name__ == "__main__":
    main()
