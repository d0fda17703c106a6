"""Base class and type check for a deployment's groups of options."""

from dataclasses import fields

from roofkit._tables import wrap_lines


class Options:
    """A group of options whose repr shows only the options that differ from their defaults."""

    def __repr__(self):
        texts = (
            f"{field.name}={self._format_option(getattr(self, field.name))}"
            for field in fields(self) if getattr(self, field.name) != field.default
        )  # fmt: skip
        return wrap_lines(f"{type(self).__name__}({', '.join(texts)})")

    def _format_option(self, value):
        return repr(value)


def check_options(value, kind, name, example):
    """Return ``value``, or ``kind()`` if it is None; raises ValueError for other types."""
    if value is None:
        return kind()
    if not isinstance(value, kind):
        raise ValueError(
            f"{name}={value!r} must be a {kind.__name__}, such as "
            f"{name}=rk.models.{kind.__name__}({example})"
        )
    return value
