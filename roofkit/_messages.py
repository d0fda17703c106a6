"""A sentence, with or without a table, as the output of a notebook's cell."""

from roofkit._html import start_with_blank_line, subscript_times
from roofkit._tables import format_html_table, format_text_table


class Message:
    """A sentence, which a notebook shows in bold, above a table if there is a ``head``.

    >>> Message("Two chips:", ["chip", "peak"], [["L4", "121"], ["H100", "989"]])
    Two chips:
    chip  peak
    L4     121
    H100   989
    """

    def __init__(self, message, head=(), rows=()):
        self.message, self._table = message, (head, [""] * len(head), rows)

    def __repr__(self):
        below = [format_text_table(*self._table)] if self._table[0] else []
        return "\n".join([self.message, *below])

    def _repr_html_(self):
        import html  # slow to import, and needed only in notebooks

        below = format_html_table(*self._table) if self._table[0] else ""
        return start_with_blank_line(f"<b>{subscript_times(html.escape(self.message))}</b>{below}")
