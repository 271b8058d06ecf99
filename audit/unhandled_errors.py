"""Logs errors that end a process or one of its threads, instead of printing a traceback.

A traceback quotes the message of its error, which may contain personal data, and is no line of
JSON. The programs that run on a host call `log_unhandled_errors` if the log is for programs. This
module imports no Django.
"""

import logging
import sys
import threading
from types import TracebackType

logger = logging.getLogger(__name__)


def log_unhandled_errors() -> None:
    """Log errors that end this process or one of its threads.

    The resource tracker of multiprocessing, which is a process of its own, prints no warnings. It
    warns of semaphores of killed processes, and removes them.
    """
    sys.excepthook = _log_end_of_process
    threading.excepthook = _log_end_of_thread
    sys.warnoptions.append("ignore:resource_tracker")


def _log_end_of_process(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    if issubclass(kind, Exception) and logging.getLogger().handlers:
        logger.critical("a process ended with an error", exc_info=(kind, error, trace))
    else:  # for example Ctrl-C, or an error in the settings of the log
        sys.__excepthook__(kind, error, trace)


def _log_end_of_thread(ended: threading.ExceptHookArgs) -> None:
    error = ended.exc_value
    if isinstance(error, Exception):
        logger.critical("a thread ended with an error", exc_info=error)
    else:  # which ignores SystemExit
        threading.__excepthook__(ended)
