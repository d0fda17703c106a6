"""Renders student Markdown, HTML, TeX and code as HTML that cannot run, load or cover anything.

Only content on an allow-list is kept. Formulas become MathML, so no page needs a script for them.
"""

import functools
import html
import re
from xml.etree import ElementTree

import nh3
from latex2mathml.converter import convert_to_element
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from roofgrade.common.sentences import sentence

# Maximum characters in a text. Parsing hostile nesting takes quadratic time.
LONGEST = 30_000
LONGEST_FORMULA = 2_000
# Maximum characters in a coloured line. The lexer takes quadratic time, too.
LONGEST_LINE = 500
LEXER, FORMATTER = PythonLexer(), HtmlFormatter()


def _split_set(names):
    return set(names.split())


TAGS = _split_set(
    "a abbr b blockquote br caption code col colgroup dd del details div dl dt em figcaption "
    "figure h1 h2 h3 h4 h5 h6 hr i img ins kbd li mark ol p pre q s samp small span strong "
    "sub summary sup table tbody td tfoot th thead tr u ul var"
)
MATH_TAGS = _split_set(
    "math mfrac mi mn mo mover mphantom mroot mrow mspace msqrt mstyle msub msubsup msup "
    "mtable mtd mtext mtr munder munderover"
)
MATH_ATTRIBUTES = _split_set(
    "accent columnalign display displaystyle fence form linethickness mathvariant maxsize "
    "minsize separator stretchy"
)
ATTRIBUTES = {
    "*": {"style"},
    "a": {"href"},
    "abbr": {"title"},
    "details": {"open"},
    "img": {"alt", "height", "src", "width"},
    "ol": {"start"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan", "scope"},
    **dict.fromkeys(MATH_TAGS, MATH_ATTRIBUTES),
}
# Position, margin and size are excluded, so that student content cannot cover other parts.
STYLE_PROPERTIES = _split_set(
    "background-color border-left color font-style font-weight padding text-align"
)
STYLE_PATTERN = re.compile(r"(?!.*url)[\w\s#%.,:;()-]*", re.IGNORECASE)
ADDRESS_PATTERNS = {
    ("a", "href"): re.compile(r"(https?://|mailto:|#)\S*", re.IGNORECASE),
    ("img", "src"): re.compile(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]*"),
}
# A link in clean HTML to another page.
LINK = re.compile(r'<a(?: style="[^"]*")? href="([^#"][^"]*)"[^>]*>(.*?)</a>', re.DOTALL)


def clean_html(source):
    """Return only the parts of some HTML that are on the allow-list."""
    return _cut_text(source) if len(source) > LONGEST else CLEANER.clean(source)


def clean_markdown(source, attachments=None):
    """Render Markdown as clean HTML. Text that cannot be rendered is quoted.

    Each of the ``attachments``, in nbformat's structure, is shown once.
    """
    if len(source) > LONGEST:
        return _cut_text(source)
    try:
        rendered = MarkdownWithMath(renderer=_Renderer(attachments or {})).render(source)
    except MemoryError:
        raise
    except Exception:  # one text that the parser cannot handle must not stop the page
        return quote_text(source)
    return CLEANER.clean(rendered)


def spell_out_links(piece):
    """Replace each link to another page in clean HTML by its text and address."""
    return LINK.sub(r"\2 (\1)", piece)


def highlight_code(source):
    """Render Python code as HTML, with colours unless it is long."""
    if len(source) > LONGEST or any(len(line) > LONGEST_LINE for line in source.split("\n")):
        return f'<div class="highlight">{quote_text(source)}</div>'
    return highlight(source, LEXER, FORMATTER)


@functools.cache
def warm_up_parsers():
    """Load the parsers once, instead of in every forked process."""
    clean_markdown("| *a* |\n|-|\n| $x^2$ |")
    highlight_code("x = 1")


def quote_text(text):
    """Return text as preformatted HTML."""
    return f"<pre>{html.escape(text)}</pre>"


def _cut_text(source):
    remark = sentence("pages.cut_text", most=LONGEST, count=len(source))
    return quote_text(f"{source[:LONGEST]}\n{remark}")


def _filter_attribute(tag, name, value):
    pattern = STYLE_PATTERN if name == "style" else ADDRESS_PATTERNS.get((tag, name))
    return value if pattern is None or pattern.fullmatch(value) else None


CLEANER = nh3.Cleaner(
    tags=TAGS | MATH_TAGS, attributes=ATTRIBUTES, attribute_filter=_filter_attribute,
    url_schemes={"http", "https", "mailto", "data"}, filter_style_properties=STYLE_PROPERTIES,
    clean_content_tags={"script", "style"}, link_rel=None,
)  # fmt: skip


class FormulaRenderer(IPythonRenderer):
    """nbconvert's Markdown renderer, with formulas as MathML."""

    def block_math(self, body):
        return _format_formula(body, "block", f"$${body}$$")

    def inline_math(self, body):
        return _format_formula(body, "inline", f"${body}$")

    def latex_environment(self, name, body):
        source = f"\\begin{{{name}}}{body}\\end{{{name}}}"
        return _format_formula(source, "block", source)


class _Renderer(FormulaRenderer):
    def __init__(self, attachments):
        super().__init__(escape=False, exclude_anchor_links=True, attachments=dict(attachments))

    def block_code(self, code, info=None):
        return quote_text(code)

    def _embed_image_or_attachment(self, src):
        kinds = self.attachments.pop(src.removeprefix("attachment:"), {})
        for kind, data in kinds.items():
            return f"data:{kind};base64,{data}"
        return src


def _format_formula(body, display, source):
    if len(body) <= LONGEST_FORMULA:
        try:
            return convert_formula(body, display)
        except MemoryError:
            raise
        except Exception:  # for invalid TeX, the converter raises arbitrary errors
            pass
    return html.escape(source)


def convert_formula(body, display):
    """Return a formula in TeX as MathML; ``display`` is "inline" or "block"."""
    # The converter knows aligned only as align*, and no extra space after a row.
    known = re.sub(r"\\\\\[[\d.]+pt\]", r"\\\\", body.replace("{aligned}", "{align*}"))
    element = convert_to_element(known, display=display)
    for piece in element.iter():  # the text has HTML entities, which XML would escape
        piece.text = html.unescape(piece.text or "")
    return ElementTree.tostring(element, encoding="unicode")
