#!/usr/bin/env python
"""Django's command line for SiteLedger."""

import os
import socket
import sys
import uuid

from django.conf import settings
from structlog.contextvars import bound_contextvars

from audit.ledger.context import RequestOrigin, set_origin
from config.command_line import CommandLine

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    # What a command changes names the command, and who was at the keyboard.
    actor = f"system:{next(iter(sys.argv[1:]), '')}"
    facts = {"os_user": settings.OS_USER, "host": socket.gethostname()}
    with (
        set_origin(RequestOrigin(facts, lambda: (actor, ""))),
        bound_contextvars(correlation_id=str(uuid.uuid4())),
    ):
        CommandLine(sys.argv).execute()
