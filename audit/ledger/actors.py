"""Names who caused an event: the value `Actor`, and the names of software in entries.

Software is named `system:WORD@HOST/PID` in entries (R40: ICH E6(R3) 4.2.4). Callers give the word,
as in `Actor.software("worker")`, and `audit.ledger.log` adds the process, so that no caller can
forget it. Entries of early releases contain the word alone. This module imports no Django.
"""

import os
import re
import socket
from dataclasses import dataclass
from functools import cache
from typing import Self

SYSTEM = "system:"
PERSON = "user:"
TOKEN = "token:"  # noqa: S105 - the beginning of a name
OPERATIONS = "operations"  # the role of commands: the people who run this installation
MAX_HOST_NAME_LENGTH = 64  # characters: Linux, gethostname(2)
_NOT_PORTABLE = re.compile(r"[^A-Za-z0-9._-]")  # a host name may contain any bytes


@dataclass(frozen=True, slots=True)
class Actor:
    """Identifies who caused an event, as its entry states it.

    `role` is empty where only the name is known: a job, for example, keeps the name of the person
    who requested it.
    """

    name: str
    role: str = ""

    @classmethod
    def person(cls, key: int, role: str) -> Self:
        """Return the actor for the account with this primary key."""
        return cls(f"{PERSON}{key}", role)

    @classmethod
    def token(cls, prefix: str, role: str) -> Self:
        """Return the actor for a program that signs in with the API token of this prefix."""
        return cls(f"{TOKEN}{prefix}", role)

    @classmethod
    def software(cls, word: str, role: str = "") -> Self:
        """Return the actor for a part of this software, such as "worker" or a command."""
        return cls(f"{SYSTEM}{word}", role)


def add_process(name: str) -> str:
    """Return the name of an actor with this process, if the actor is software.

    The names of people and of tokens, and names that already contain a process, are unchanged.
    """
    if not name.startswith(SYSTEM) or "@" in name:
        return name
    return f"{name}@{_process(os.getpid())}"


def drop_process(name: str) -> str:
    """Return the name of an actor without the process, as pages show it."""
    return name.partition("@")[0] if name.startswith(SYSTEM) else name


@cache
def _process(pid: int) -> str:
    """Return HOST/PID. It is cached for each process: a forked process has another `pid`."""
    return f"{_NOT_PORTABLE.sub('-', socket.gethostname())[:MAX_HOST_NAME_LENGTH]}/{pid}"
