"""Render the formulas of Markdown as MathML, so that pages and decks need no script for them."""

import re

from docutils.nodes import SkipNode
from jinja2 import pass_context
from nbconvert import SlidesExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from roofgrade.pages.safe_markup import convert_formula

# Signs that must not start or end a line without their formula.
BESIDE = re.compile(
    r"([(\[]?)(<math [^>]*\"inline\"[^>]*>(?:(?!<math).)*?</math>)([)\].,;:!?’]*)", re.DOTALL
)


def keep_signs_beside(html):
    """Keep the punctuation beside each formula on its line."""

    def join(match):
        alone = not match[1] and not match[3]
        return match[0] if alone else f'<span class="whole">{match[0]}</span>'

    return BESIDE.sub(join, html)


class _Renderer(IPythonRenderer):
    """nbconvert's Markdown renderer, with formulas as MathML."""

    def block_math(self, body):
        return convert_formula(body, "block")

    def inline_math(self, body):
        return convert_formula(body, "inline")


class DeckExporter(SlidesExporter):
    """nbconvert's exporter of slides, with formulas as MathML."""

    @pass_context
    def markdown2html(self, context, source):
        attachments = context.get("cell", {}).get("attachments", {})
        renderer = _Renderer(escape=False, attachments=attachments, exclude_anchor_links=True)
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
