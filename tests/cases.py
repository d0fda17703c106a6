"""Cases of one test in a loop: what pytest spends on an item costs more than most of them."""

import functools
import inspect

import pytest


def cases(names, values):
    """Run a test on every case, in one item, where pytest.mark.parametrize makes an item of each.

    Every case runs, also after one has failed, and the error names all that fail. A test that
    leaves something behind (a patch, a file, a figure) needs parametrize.
    """
    fields = [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]

    def over_all(test):
        @functools.wraps(test)
        def loop(**fixtures):
            failures = []
            for value in values:
                case = dict(zip(fields, value if len(fields) > 1 else (value,), strict=True))
                try:
                    test(**fixtures, **case)
                except (Exception, pytest.fail.Exception) as failure:
                    text = ", ".join(f"{name}={str(each)[:80]!r}" for name, each in case.items())
                    failure.add_note(f"This is the case {text}.")
                    failures.append((text, failure))
            if failures:
                told = "".join(f"\n    {text}" for text, _ in failures)
                errors = [failure for _, failure in failures]
                raise BaseExceptionGroup(f"{len(errors)} cases fail:{told}\n", errors)

        del loop.__wrapped__  # or pytest would look for fixtures with the names of the cases
        parameters = inspect.signature(test).parameters.values()
        loop.__signature__ = inspect.Signature([p for p in parameters if p.name not in fields])
        return loop

    return over_all
