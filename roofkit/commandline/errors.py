"""Errors as one sentence, on the command lines of all three packages."""

import click


class Sentences(click.Group):
    """Commands that answer bad input with the error's one sentence instead of a traceback."""

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        except (
            click.exceptions.Exit,
            click.Abort,
        ):  # click ends by these, and they are RuntimeErrors
            raise
        except (ValueError, RuntimeError, OSError) as error:
            raise click.ClickException(str(error)) from None
        except ModuleNotFoundError as error:
            raise click.ClickException(error.msg) from None
