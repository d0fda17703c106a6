"""Markdown, HTML and TeX that a student wrote, as HTML that can neither run, load nor overlay.

An allow-list decides: what it does not name is left out. Formulas become MathML, so that no page
needs a script for them.
"""

import html
import re
from xml.etree import ElementTree

import bleach
from bleach.css_sanitizer import CSSSanitizer
from bleach.html5lib_shim import Filter
from jinja2 import pass_context
from latex2mathml.converter import convert
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from roofgrade.text import words

# The most characters of a text: hostile nesting takes time that grows with their square.
LONGEST = 30_000
LONGEST_FORMULA = 2_000


def _set(names):
    return frozenset(names.split())


TAGS = _set(
    "a abbr b blockquote br caption code col colgroup dd del details div dl dt em figcaption "
    "figure h1 h2 h3 h4 h5 h6 hr i img ins kbd li mark ol p pre q s samp small span strong "
    "sub summary sup table tbody td tfoot th thead tr u ul var"
)
# There is no position, margin or size among these, so what a student writes stays in its place.
PROPERTIES = _set("background-color border-left color font-style font-weight padding text-align")
ATTRIBUTES = {
    "abbr": {"title"},
    "details": {"open"},
    "img": {"alt", "height", "width"},
    "ol": {"start"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan", "scope"},
}
PATTERNS = {
    ("a", "href"): re.compile(r"(https?://|mailto:|#)\S*", re.IGNORECASE),
    ("img", "src"): re.compile(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]*"),
}
STYLE = re.compile(r"(?!.*url)[\w\s#%.,:;()-]*", re.IGNORECASE)
# Bleach takes tags away and leaves the text between them, so these go as a whole.
UNREADABLE = re.compile(r"<(style|script)\b.*?(</\1\s*>|\Z)", re.IGNORECASE | re.DOTALL)
# This mark holds the place of a formula until all else is clean.
MARK = re.compile("\ue000(\\d+)\ue001")
NO_MARKS = str.maketrans("", "", "\ue000\ue001")
PIECES = _set(
    "math mfrac mi mn mo mover mphantom mroot mrow mspace msqrt mstyle msub msubsup msup "
    "mtable mtd mtext mtr munder munderover"
)
PIECE_ATTRIBUTES = _set(
    "accent columnalign display displaystyle fence form linethickness mathvariant maxsize "
    "minsize separator stretchy"
)


def clean_html(source):
    """HTML without all that the allow-list does not know."""
    return _clean(source.translate(NO_MARKS), ())


def clean_markdown(source, attachments=None):
    """Markdown as clean HTML; what cannot be rendered stays as text."""
    if len(source) > LONGEST:
        return _cut(source)
    renderer = _Renderer(attachments or {})
    try:
        rendered = MarkdownWithMath(renderer=renderer).render(source.translate(NO_MARKS))
    except Exception:  # a parser that gives up on one text must not stop the page
        return plain(source)
    return _clean(rendered, renderer.formulas)


def plain(text):
    """Text as it stands, in HTML."""
    return f"<pre>{html.escape(text)}</pre>"


@pass_context
def markdown_filter(context, source):
    """``clean_markdown`` as the filter ``markdown2html`` of nbconvert's templates."""
    return clean_markdown(source, context.get("cell", {}).get("attachments"))


def _clean(source, formulas):
    if len(source) > LONGEST:
        return _cut(source)
    cleaner = bleach.Cleaner(
        tags=TAGS,
        attributes=_allowed,
        protocols={"http", "https", "mailto", "data"},
        strip=True,
        filters=[lambda source: _Formulas(source, formulas)],
        css_sanitizer=CSSSanitizer(PROPERTIES, ()),
    )
    return cleaner.clean(UNREADABLE.sub("", source))


def _cut(source):
    said = words("pages.cut_text", most=LONGEST, count=len(source))
    return plain(f"{source[:LONGEST]}\n{said}")


def _allowed(tag, name, value):
    if name == "style":
        return STYLE.fullmatch(value) is not None
    if (tag, name) in PATTERNS:
        return PATTERNS[tag, name].fullmatch(value) is not None
    return name in ATTRIBUTES.get(tag, ())


class _Renderer(IPythonRenderer):
    """nbconvert's Markdown, with a mark where a formula stands, which ``formulas`` keeps."""

    def __init__(self, attachments):
        super().__init__(escape=False, exclude_anchor_links=True, attachments=attachments)
        self.formulas = []

    def block_math(self, body):
        return self._mark(body, "block", f"$${body}$$")

    def inline_math(self, body):
        return self._mark(body, "inline", f"${body}$")

    def latex_environment(self, name, body):
        source = f"\\begin{{{name}}}{body}\\end{{{name}}}"
        return self._mark(source, "block", source)

    def block_code(self, code, info=None):
        return plain(code)

    def _embed_image_or_attachment(self, src):
        kinds = self.attachments.get(src.removeprefix("attachment:"), {})
        for kind, data in kinds.items():
            return f"data:{kind};base64,{data}"
        return src

    def _mark(self, body, display, source):
        self.formulas.append((_mathml(body, display), source))
        return f"\ue000{len(self.formulas) - 1}\ue001"


def _mathml(body, display):
    """The formula as an element, or None if it cannot be rendered."""
    if len(body) > LONGEST_FORMULA:
        return None
    # The converter knows this layout by another name.
    body = body.replace("{aligned}", "{align*}")
    try:
        return ElementTree.fromstring(convert(body, display=display))
    except Exception:  # the converter raises whatever comes to it on what is no TeX
        return None


class _Formulas(Filter):
    """Puts formulas where their marks stand in the text, and nowhere else."""

    def __init__(self, source, formulas):
        super().__init__(source)
        self.formulas = formulas

    def __iter__(self):
        for token in super().__iter__():
            if token["type"] != "Characters" or "\ue000" not in token["data"]:
                yield token
                continue
            for place, part in enumerate(MARK.split(token["data"])):
                if place % 2 == 0:
                    yield {"type": "Characters", "data": part}
                elif int(part) < len(self.formulas):
                    tree, text = self.formulas[int(part)]
                    yield from _text(text) if tree is None else _tokens(tree)


def _tokens(element):
    name = element.tag.rpartition("}")[2]
    known = name in PIECES
    if known:
        attributes = {
            (None, key): value for key, value in element.items() if key in PIECE_ATTRIBUTES
        }
        yield {"type": "StartTag", "name": name, "namespace": None, "data": attributes}
    yield from _text(element.text)
    for child in element:
        yield from _tokens(child)
        yield from _text(child.tail)
    if known:
        yield {"type": "EndTag", "name": name, "namespace": None, "data": {}}


def _text(text):
    if text:
        yield {"type": "Characters", "data": text}
