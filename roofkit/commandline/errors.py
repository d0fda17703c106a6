"""Print errors as one sentence, on the command lines of all packages."""

import click


class ErrorSentences(click.Group):
    """Commands that answer bad input with the error's one sentence instead of a traceback."""

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        # click handles these itself: the first two end a command, the last is a closed pipe.
        except (click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except (ValueError, RuntimeError, OSError) as error:
            raise click.ClickException(str(error)) from None
        except ModuleNotFoundError as error:
            raise click.ClickException(error.msg) from None
