"""Print errors as single sentences on the command line of every package."""

import click


class ErrorSentences(click.Group):
    """A command group that reports invalid input in one sentence instead of a traceback."""

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        # click handles these: the first two end a command, and the last means a closed pipe.
        except (click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except (ValueError, RuntimeError, OSError) as error:
            raise click.ClickException(str(error)) from None
        except ModuleNotFoundError as error:
            raise click.ClickException(error.msg) from None
