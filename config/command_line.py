"""Runs commands of manage.py. With LOG_FORMAT=json, their failures are lines of the log.

Django prints the traceback of an unexpected error, with its message, and the message of a
CommandError. Both may contain personal data, and programs cannot read them.
"""

import logging
import sys
from functools import partial
from typing import Any

from django.conf import settings
from django.core.management import CommandError, ManagementUtility
from django.core.management.base import BaseCommand, SystemCheckError

from audit.unhandled_errors import log_unhandled_errors

logger = logging.getLogger(__name__)


class CommandLine(ManagementUtility):
    """Django's command line, whose commands log their failures."""

    def execute(self) -> None:
        """Run the command that the arguments name."""
        if settings.LOG_FORMAT == "json":
            log_unhandled_errors()
        super().execute()

    def fetch_command(self, subcommand: str) -> BaseCommand:
        """Return the command with this name."""
        command = super().fetch_command(subcommand)
        if settings.LOG_FORMAT == "json":
            logged = partial(_execute, subcommand, command.execute)
            command.execute = logged  # type: ignore[method-assign]
        return command


def _execute(subcommand: str, execute: Any, *args: Any, **options: Any) -> Any:
    """Run a command. If it fails, log one line and end the process.

    A person at a terminal reads what a CommandError says, and the findings of system checks are
    printed as usual.
    """
    try:
        return execute(*args, **options)
    except SystemCheckError:
        raise
    except Exception as error:
        if isinstance(error, CommandError) and sys.stderr.isatty():
            raise
        logger.exception("manage.py %s failed", subcommand, extra={"code": type(error).__name__})
        sys.exit(error.returncode if isinstance(error, CommandError) else 1)
