"""Removes tracebacks of refused requests from log records."""

import logging


class RefusedRequestFilter(logging.Filter):
    """Removes the traceback from the log records of refused requests (status 400 to 499).

    Django logs the exception that refused a request. Its traceback tells nothing about the request,
    and a stranger could fill the log with tracebacks.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        if 400 <= getattr(record, "status_code", 0) < 500:
            record.exc_info = record.exc_text = None
        return True
