"""What the groups of a deployment's options share: how they are written, how they are refused."""

from dataclasses import fields

from roofkit._tables import wrap_lines


class Options:
    """A group of options; its text names those alone that are not as usual."""

    def __repr__(self):
        given = (
            f"{each.name}={self._format_option(getattr(self, each.name))}"
            for each in fields(self) if getattr(self, each.name) != each.default
        )  # fmt: skip
        return wrap_lines(f"{type(self).__name__}({', '.join(given)})")

    def _format_option(self, value):
        return repr(value)


def check_options(value, kind, name, example):
    """The value, or the usual options of this kind for None; ValueError for any other type."""
    if value is None:
        return kind()
    if not isinstance(value, kind):
        raise ValueError(
            f"{name}={value!r} must be a {kind.__name__}: say "
            f"{name}=rk.models.{kind.__name__}({example})"
        )
    return value
