"""What students write, as HTML that can neither run, load nor overlay: Markdown, HTML, TeX, code.

An allow-list decides: what it does not name is left out. Formulas become MathML, so that no page
needs a script for them.
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

from roofgrade.common.sentences import words

# The most characters of a text: hostile nesting takes time that grows with their square.
LONGEST = 30_000
LONGEST_FORMULA = 2_000
# The most characters of a line whose code is coloured: the lexer takes time as their square.
LONGEST_LINE = 500
LEXER, FORMATTER = PythonLexer(), HtmlFormatter()


def _set(names):
    return set(names.split())


TAGS = _set(
    "a abbr b blockquote br caption code col colgroup dd del details div dl dt em figcaption "
    "figure h1 h2 h3 h4 h5 h6 hr i img ins kbd li mark ol p pre q s samp small span strong "
    "sub summary sup table tbody td tfoot th thead tr u ul var"
)
# What formulas are made of.
PIECES = _set(
    "math mfrac mi mn mo mover mphantom mroot mrow mspace msqrt mstyle msub msubsup msup "
    "mtable mtd mtext mtr munder munderover"
)
PIECE_ATTRIBUTES = _set(
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
    **dict.fromkeys(PIECES, PIECE_ATTRIBUTES),
}
# There is no position, margin or size among these, so what a student writes stays in its place.
PROPERTIES = _set("background-color border-left color font-style font-weight padding text-align")
STYLE = re.compile(r"(?!.*url)[\w\s#%.,:;()-]*", re.IGNORECASE)
PATTERNS = {
    ("a", "href"): re.compile(r"(https?://|mailto:|#)\S*", re.IGNORECASE),
    ("img", "src"): re.compile(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]*"),
}


def clean_html(source):
    """HTML without all that the allow-list does not know."""
    return _cut(source) if len(source) > LONGEST else CLEANER.clean(source)


def clean_markdown(source, attachments=None):
    """Markdown as clean HTML; what cannot be rendered stays as text.

    Each of the ``attachments``, as nbformat has them, is shown once.
    """
    if len(source) > LONGEST:
        return _cut(source)
    try:
        rendered = MarkdownWithMath(renderer=_Renderer(attachments or {})).render(source)
    except MemoryError:
        raise
    except Exception:  # a parser that gives up on one text must not stop the page
        return plain(source)
    return CLEANER.clean(rendered)


def code(source):
    """Python as HTML, in colours unless it is long."""
    if len(source) > LONGEST or any(len(line) > LONGEST_LINE for line in source.split("\n")):
        return f'<div class="highlight">{plain(source)}</div>'
    return highlight(source, LEXER, FORMATTER)


@functools.cache
def warm():
    """Make the parsers ready once, and not in every process that is forked from this one."""
    clean_markdown("| *a* |\n|-|\n| $x^2$ |")
    code("x = 1")


def plain(text):
    """Text as it stands, in HTML."""
    return f"<pre>{html.escape(text)}</pre>"


def _cut(source):
    said = words("pages.cut_text", most=LONGEST, count=len(source))
    return plain(f"{source[:LONGEST]}\n{said}")


def _allowed(tag, name, value):
    pattern = STYLE if name == "style" else PATTERNS.get((tag, name))
    return value if pattern is None or pattern.fullmatch(value) else None


CLEANER = nh3.Cleaner(
    tags=TAGS | PIECES,
    attributes=ATTRIBUTES,
    attribute_filter=_allowed,
    url_schemes={"http", "https", "mailto", "data"},
    filter_style_properties=PROPERTIES,
    clean_content_tags={"script", "style"},
    link_rel=None,
)


class _Renderer(IPythonRenderer):
    """nbconvert's Markdown, with formulas as MathML."""

    def __init__(self, attachments):
        super().__init__(escape=False, exclude_anchor_links=True, attachments=dict(attachments))

    def block_math(self, body):
        return _formula(body, "block", f"$${body}$$")

    def inline_math(self, body):
        return _formula(body, "inline", f"${body}$")

    def latex_environment(self, name, body):
        source = f"\\begin{{{name}}}{body}\\end{{{name}}}"
        return _formula(source, "block", source)

    def block_code(self, code, info=None):
        return plain(code)

    def _embed_image_or_attachment(self, src):
        kinds = self.attachments.pop(src.removeprefix("attachment:"), {})
        for kind, data in kinds.items():
            return f"data:{kind};base64,{data}"
        return src


def _formula(body, display, source):
    """The formula as MathML; what cannot be rendered stays as its source."""
    if len(body) <= LONGEST_FORMULA:
        try:
            return _mathml(body, display)
        except MemoryError:
            raise
        except Exception:  # the converter raises whatever comes to it on what is no TeX
            pass
    return html.escape(source)


def _mathml(body, display):
    # The converter knows this layout by another name.
    element = convert_to_element(body.replace("{aligned}", "{align*}"), display=display)
    for piece in element.iter():  # it names signs as HTML does, which XML would write out
        piece.text = html.unescape(piece.text or "")
    return ElementTree.tostring(element, encoding="unicode")
