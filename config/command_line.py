"""Runs commands of manage.py. With LOG_FORMAT=json, their failures are lines of the log.

Django prints the traceback of an unexpected error, with its message, the message of a CommandError,
the findings of system checks, and the usage of a command whose arguments are wrong. Programs cannot
read them, and errors and arguments may contain personal data.
"""

import logging
import re
import sys
from functools import partial
from typing import Any

from django.conf import settings
from django.core import checks
from django.core.management import CommandError, ManagementUtility, get_commands
from django.core.management.base import BaseCommand, CommandParser

from audit.unhandled_errors import log_unhandled_errors

logger = logging.getLogger(__name__)

USAGE_ERROR = 2  # the exit code of argparse
# The beginnings of argparse's messages that name arguments of the command, and no values.
_NAMED_ARGUMENTS = re.compile(
    r"(argument [^:]+|the following arguments are required: .+|one of the arguments .+ is required)"
)


class CommandLine(ManagementUtility):
    """Django's command line, whose commands log their failures."""

    def execute(self) -> None:
        """Run the command that the arguments name."""
        if settings.LOG_FORMAT == "json":
            log_unhandled_errors()
        super().execute()

    def fetch_command(self, subcommand: str) -> BaseCommand:
        """Return the command with this name."""
        if settings.LOG_FORMAT != "json":
            return super().fetch_command(subcommand)
        if subcommand not in get_commands() and not sys.stderr.isatty():
            logger.error("manage.py has no such command", extra={"code": "UnknownCommand"})
            sys.exit(1)
        command = super().fetch_command(subcommand)
        logged = partial(_execute, subcommand, command.execute)
        command.execute = logged  # type: ignore[method-assign]
        if not sys.stderr.isatty():
            parser = partial(_create_parser, subcommand, command.create_parser)
            command.create_parser = parser  # type: ignore[method-assign]
            command.check = _check  # type: ignore[method-assign]
        return command


def _execute(subcommand: str, execute: Any, *args: Any, **options: Any) -> Any:
    """Run a command. If it fails, log one line and end the process.

    A person at a terminal reads what a CommandError says.
    """
    try:
        return execute(*args, **options)
    except Exception as error:
        if isinstance(error, CommandError) and sys.stderr.isatty():
            raise
        logger.exception("manage.py %s failed", subcommand, extra={"code": type(error).__name__})
        sys.exit(error.returncode if isinstance(error, CommandError) else 1)


def _create_parser(subcommand: str, create: Any, *args: Any, **options: Any) -> CommandParser:
    """Return the parser of a command, which logs wrong arguments instead of its usage."""
    parser: CommandParser = create(*args, **options)

    def log_usage_error(message: str) -> None:
        found = _NAMED_ARGUMENTS.match(message)
        reason = found[0] if found else "unknown argument"
        logger.error(
            "manage.py %s was called with wrong arguments: %s. --help describes them",
            subcommand,
            reason,
            extra={"code": "UsageError"},
        )
        sys.exit(USAGE_ERROR)

    parser.error = log_usage_error  # type: ignore[method-assign]
    return parser


def _check(
    *args: Any, fail_level: int = checks.ERROR, display_num_errors: bool = False, **options: Any
) -> None:
    """Run system checks, and log each finding. End the process if one is at least `fail_level`."""
    findings = [each for each in checks.run_checks(*args, **options) if not each.is_silenced()]
    for finding in findings:
        problem = " ".join(filter(None, (finding.msg, finding.hint)))
        logger.log(finding.level, "system check: %s", problem, extra={"code": finding.id})
    if any(each.is_serious(fail_level) for each in findings):
        sys.exit(1)
    if display_num_errors:  # by the command `check`, as its result
        sys.stdout.write(f"System checks: {len(findings)} findings, none of them serious.\n")
