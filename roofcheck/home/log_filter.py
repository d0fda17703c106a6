"""Keep the terminal clean when the browser closes or reloads a page."""

import logging

from tornado.websocket import WebSocketClosedError


def silence_closed_pages(server_log):
    """Drop what Jupyter's server logs about pages that were closed while it wrote to them.

    asyncio would print a traceback for each message on its way, often hundreds of them.
    """
    for log in (server_log, logging.getLogger("asyncio"), logging.getLogger("tornado.application")):
        log.addFilter(is_worth_reading)


def is_worth_reading(record):
    """Return whether a log record says more than that a page was closed."""
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, AttributeError):  # the page was closed while it opened a connection
        return (error.name, error.obj) != ("kernel_ws_protocol", None)
    # As a warning, the server logs only the text of this error, which is empty.
    return not isinstance(error, WebSocketClosedError) and record.getMessage() != ""
