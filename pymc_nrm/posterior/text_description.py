"""Descriptions that print as a text, in notebooks too."""

import html


class TextDescription:
    """Base of descriptions with a field ``text``."""

    text: str

    def __str__(self):
        return self.text

    def to_text(self) -> str:
        """Return the text."""
        return self.text

    def to_html(self) -> str:
        """Return the text for a report."""
        return f"<pre>{html.escape(self.text)}</pre>"

    def _repr_html_(self):
        return self.to_html()
