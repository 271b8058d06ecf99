"""A command of manage.py as a shell has it."""

from django.core.management import CommandError, call_command


def run(command, *arguments):
    """The code with which it ends, and what it complains of."""
    try:
        call_command(command, *map(str, arguments))
    except SystemExit as stop:
        return stop.code, ""
    except CommandError as error:
        return error.returncode, str(error)
    return 0, ""
