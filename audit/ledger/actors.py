"""What software is called in entries: `system:WORD@HOST/PID` (R40: ICH E6(R3) 4.2.4).

Whoever records says what it is, as `system:worker`; which process that was is added at the door of
the ledger, so that nobody forgets it. Entries of before have the word alone. No Django.
"""

import os
import re
import socket
from functools import cache

SYSTEM = "system:"
OPERATIONS = "operations"  # the role of commands: whoever runs this installation
_HOST_NAME_MAX = 64  # characters: Linux, gethostname(2)
_ODD = re.compile(r"[^A-Za-z0-9._-]")  # a host's name may be any bytes, and this goes into lines


def add_process(actor: str) -> str:
    """With this process, where software acts. People and programs with a token stay as they are."""
    if not actor.startswith(SYSTEM) or "@" in actor:
        return actor
    return f"{actor}@{_process(os.getpid())}"


def without_process(actor: str) -> str:
    """Without the process: as pages name it, and as it was named before."""
    return actor.partition("@")[0] if actor.startswith(SYSTEM) else actor


@cache
def _process(pid: int) -> str:
    """Made once a process: what was forked has another number, and another name."""
    return f"{_ODD.sub('-', socket.gethostname())[:_HOST_NAME_MAX]}/{pid}"
