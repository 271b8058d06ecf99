"""What ties the processes of a cluster together: each has a name, and ends with its parent.

django-q2 leaves orphans that go on consuming when its main process or its sentinel is killed. Here
a parent's death reaches its children as SIGHUP: who is idle ends at once, a shift drains first.
Linux only: prctl(2). `ps -eo pid,ppid,comm` shows the names, which begin with `sl-`.
"""

import ctypes
import os
import signal

PR_SET_PDEATHSIG, PR_SET_NAME = 1, 15  # linux/prctl.h
ORPHANED = signal.SIGHUP

_libc = ctypes.CDLL(None)
_parent = 0  # who is about to fork
_role = ""  # and what the child will be


def name(role: str) -> None:
    """Name this process; the kernel keeps 15 letters."""
    _libc.prctl(PR_SET_NAME, f"sl-{role}".encode()[:15], 0, 0, 0)


def end_with(parent: int, number: int = ORPHANED) -> None:
    """Get this signal when the parent dies, or now if it is dead already."""
    _libc.prctl(PR_SET_PDEATHSIG, int(number), 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), number)


def tie_forks() -> None:
    """Whatever this process forks from now on is named and ends with its parent. Call it once."""
    signal.signal(ORPHANED, signal.SIG_DFL)  # under nohup it is ignored, which forks inherit
    os.register_at_fork(before=_remember, after_in_child=_tie)


def next_is(role: str) -> None:
    """What the next child will be called."""
    global _role  # noqa: PLW0603 - it has to reach the child, and a fork copies globals
    _role = role


def _remember() -> None:
    global _parent  # noqa: PLW0603 - as above
    _parent = os.getpid()


def _tie() -> None:
    if _role:
        name(_role)
    end_with(_parent)
