"""Render the formulas of Markdown as MathML, so that pages and decks need no script for them."""

import re

from docutils.nodes import SkipNode
from jinja2 import pass_context
from nbconvert import SlidesExporter
from nbconvert.filters.markdown_mistune import MarkdownWithMath

from roofgrade.pages.safe_markup import FormulaRenderer, convert_formula

# A formula in a line, and the signs that must not stand on another line.
FORMULA = re.compile(r"[(\[]?<math [^>]*\"inline\"[^>]*>(?:(?!<math).)*?</math>[)\].,;:!?’]*", re.S)


def keep_signs_beside(html):
    """Keep the punctuation beside each formula on its line."""
    return FORMULA.sub(r'<span class="whole">\g<0></span>', html)


class DeckExporter(SlidesExporter):
    """nbconvert's exporter of slides, with formulas as MathML."""

    @pass_context
    def markdown2html(self, context, source):
        attachments = context.get("cell", {}).get("attachments", {})
        renderer = FormulaRenderer(escape=False, attachments=attachments, exclude_anchor_links=True)
        return keep_signs_beside(MarkdownWithMath(renderer=renderer).render(source))


def use_mathml(app):
    """Let Sphinx write formulas as MathML."""

    def write_inline(translator, node):
        translator.body.append(convert_formula(node.astext(), "inline"))
        raise SkipNode

    def write_block(translator, node):
        formula = convert_formula(node.astext(), "block")
        translator.body.append(f'<div class="math-wrapper">{formula}</div>')
        raise SkipNode

    app.add_html_math_renderer("mathml", (write_inline, None), (write_block, None))
