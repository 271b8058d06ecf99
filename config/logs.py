"""What is written to the log, beside what each module says."""

import logging


class RefusalsInOneLine(logging.Filter):
    """Leaves the traceback out of requests that were refused (status 400 to 499).

    Django logs a refused page with the exception that refused it. Its place in our code says
    nothing about the request, and a stranger could fill the log with it.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        if 400 <= getattr(record, "status_code", 0) < 500:
            record.exc_info = record.exc_text = None
        return True
