"""Read the words, ids and links of a page of the site."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag, urlsplit


@dataclass
class Page(HTMLParser):
    """A page's words, ids, links, and the files that it loads."""

    words: list = field(default_factory=list)
    ids: set = field(default_factory=set)
    links: list = field(default_factory=list)
    loads: list = field(default_factory=list)

    def __post_init__(self):
        super().__init__()

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.ids |= {named.get("id"), named.get("name")}
        if tag == "a" and "href" in named:
            self.links.append(named["href"])
        if tag == "link" and named.get("rel") not in ("next", "canonical", "alternate"):
            self.loads.append(named["href"])
        if "src" in named:
            self.loads.append(named["src"])

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return "".join(self.words)


def read(path):
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def goal(path, address):
    """Return the file that a relative address leads to from a page, and the anchor in it."""
    address, place = urldefrag(address)
    return (path.parent / unquote(urlsplit(address).path) if address else path).resolve(), place
