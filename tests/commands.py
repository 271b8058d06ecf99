"""Runs commands of manage.py as a shell does."""

from django.core.management import CommandError, call_command


def run(command, *arguments):
    """Return the exit code and the error message of a command."""
    try:
        call_command(command, *map(str, arguments))
    except SystemExit as stop:
        return stop.code, ""
    except CommandError as error:
        return error.returncode, str(error)
    return 0, ""
