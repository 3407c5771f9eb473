"""Gallery pages from the scripts in ``examples``: their docstring, the committed picture, their source.

Nothing is run.  The first paragraph of the docstring is the title; the rest is the text.
"""

import ast
from pathlib import Path

from sphinx.util import logging

from reference_pages import write_folder

_log = logging.getLogger(__name__)


def setup(app):
    """Write the gallery before Sphinx reads it."""
    app.connect("builder-inited", _write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _write_pages(app):
    docs = Path(app.srcdir)
    pages, cards = {}, []
    for script in sorted((docs.parent / "examples").glob("*.py")):
        title, text = _title_and_text(script)
        picture = docs / "images" / f"{script.stem}.png"
        if not picture.exists():
            _log.warning(
                "docs/images/%s.png is missing; make it with: python examples/%s.py docs/images/%s.png",
                *[script.stem] * 3,
            )
        pages[f"{script.stem}.md"] = _PAGE.format(title=title, text=text, name=script.stem)
        cards.append(_CARD.format(title=title, name=script.stem))
    pages["cards.txt"] = "".join(cards)
    write_folder(docs / "gallery" / "generated", pages)


def _title_and_text(script):
    docstring = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or ""
    title, _, text = docstring.partition("\n\n")
    title = " ".join(title.split()).rstrip(".")
    if not title:
        _log.warning("examples/%s has no docstring", script.name)
    return title or script.stem, text.strip()


_PAGE = """# {title}

{text}

```{{image}} /images/{name}.png
:alt: {title}
```

The script `examples/{name}.py`:

```{{literalinclude}} /../examples/{name}.py
:language: python
```
"""

_CARD = """
:::{{grid-item-card}} {title}
:img-top: /images/{name}.png
:img-alt: {title}
:link: generated/{name}
:link-type: doc
:::
"""
