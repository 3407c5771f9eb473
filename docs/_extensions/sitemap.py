"""A sitemap of all pages below ``html_baseurl``, for search engines."""

from pathlib import Path
from xml.sax.saxutils import escape


def setup(app):
    """Write the sitemap when pages are written."""
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _write(app, exception):
    if exception is None and app.builder.format == "html" and app.config.html_baseurl:
        base = app.config.html_baseurl.rstrip("/")
        addresses = [f"{base}/{app.builder.get_target_uri(name)}" for name in sorted(app.env.found_docs)]
        Path(app.outdir, "sitemap.xml").write_text(sitemap(addresses), encoding="utf-8")


def sitemap(addresses):
    """The text of a sitemap of these addresses."""
    entries = "".join(f"  <url><loc>{escape(address)}</loc></url>\n" for address in addresses)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{entries}</urlset>\n'
    )
