"""Formulas as MathML, which browsers draw themselves: no script and no font to load."""

import re

from docutils.nodes import SkipNode
from latex2mathml.converter import convert
from sphinx.util import logging

_log = logging.getLogger(__name__)


def setup(app):
    """Offer the renderer of formulas."""
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _visit_inline(translator, node):
    translator.body.append(_mathml(node, "inline"))
    raise SkipNode


def _visit_block(translator, node):
    translator.body.append(f'<div class="formula">{_mathml(node, "block")}</div>')
    raise SkipNode


def _mathml(node, display):
    latex = node.astext()
    if "&" in latex:
        # The converter writes alignment marks as text.
        _log.warning("formula with an alignment mark: %s", latex, location=node)
    try:
        result = convert(latex, display=display)
    except Exception as error:
        _log.warning("formula cannot be converted: %s (%s)", latex, error, location=node)
        return f"<code>{latex}</code>"
    if "\\" in result:
        _log.warning("formula has an unknown command: %s", latex, location=node)
    # Browsers put no space between the name of a function and what follows without parentheses.
    return re.sub(r"(<mi>(?:exp|log)</mi>)(?!<mo)", r'\1<mspace width="0.167em" />', result)
