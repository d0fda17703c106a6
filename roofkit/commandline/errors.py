"""Errors as one sentence, on the command lines of all three packages."""

import click


class ErrorSentences(click.Group):
    """Commands that answer bad input with the error's one sentence instead of a traceback."""

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        # click ends by the first two; by the last it learns that nobody reads on.
        except (click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except (ValueError, RuntimeError, OSError) as error:
            raise click.ClickException(str(error)) from None
        except ModuleNotFoundError as error:
            raise click.ClickException(error.msg) from None
