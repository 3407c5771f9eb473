"""The README as the first page: its links lead to pages of the documentation, and to the repository for all else."""

import re
from importlib import metadata

_LINK = re.compile(r"\]\((?!https?:|#)([^)\s]+)\)")


def setup(app):
    """Rewrite links of the README where a page includes it."""
    app.connect("include-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _read(app, path, parent, content):
    if path.name == "README.md":
        content[0] = links_of_pages(content[0], repository())


def links_of_pages(text, repository):
    """The README with links relative to ``docs``, and absolute ones to files outside it."""

    def target(match):
        path = match.group(1)
        return f"]({path.removeprefix('docs/')})" if path.startswith("docs/") else f"]({repository}/blob/main/{path})"

    return _LINK.sub(target, text)


def repository():
    """Address of the repository, from the metadata of the package."""
    urls = dict(url.split(", ") for url in metadata.metadata("pymc-nrm").get_all("Project-URL") or ())
    return urls["Source"]
