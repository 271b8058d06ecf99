#!/usr/bin/env python
"""Django's command line for SiteLedger."""

import os
import socket
import sys

from django.conf import settings
from django.core.management import execute_from_command_line

from audit.ledger.context import RequestOrigin, set_origin

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    # What a command changes names the command, and who was at the keyboard.
    actor = f"system:{next(iter(sys.argv[1:]), '')}"
    facts = {"os_user": settings.OS_USER, "host": socket.gethostname()}
    with set_origin(RequestOrigin(facts, lambda: (actor, ""))):
        execute_from_command_line(sys.argv)
