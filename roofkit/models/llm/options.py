"""Base class and type check for a deployment's groups of options."""

from dataclasses import fields

from roofkit._tables import wrap_lines


class Options:
    """A group of options whose repr shows only the options that differ from their defaults."""

    def __new__(cls, *_, **given):
        """Raise ValueError for an option that there is not, naming those that there are."""
        names = [field.name for field in fields(cls)]
        if unknown := [name for name in given if name not in names]:
            raise ValueError(f"{cls.__name__} has no {unknown[0]!r}, only {', '.join(names)}")
        return super().__new__(cls)

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
