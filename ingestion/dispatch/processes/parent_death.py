"""Names the processes of a cluster, and ends each of them when its parent dies.

If its main process or its sentinel is killed, django-q2 leaves orphans that continue to take tasks.
Here the children receive SIGHUP when their parent dies: an idle process ends at once, and a shift
drains first. It works on Linux only, by prctl(2). `ps -eo pid,ppid,comm` shows the names, which
begin with `sl-`.
"""

import ctypes
import os
import signal

PR_SET_PDEATHSIG, PR_SET_NAME = 1, 15  # linux/prctl.h
ORPHANED = signal.SIGHUP

_libc = ctypes.CDLL(None)
_parent = 0  # the process that is about to fork
_role = ""  # of the child


def name_process(role: str) -> None:
    """Set the name of this process, of which the kernel keeps 15 letters."""
    _libc.prctl(PR_SET_NAME, f"sl-{role}".encode()[:15], 0, 0, 0)


def signal_on_parent_death(parent: int, number: int = ORPHANED) -> None:
    """Let the kernel send this signal when the parent dies, or send it now if it is dead."""
    _libc.prctl(PR_SET_PDEATHSIG, int(number), 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), number)


def tie_forked_processes() -> None:
    """Name every process that is forked from now on, and end it with its parent. Call it once."""
    signal.signal(ORPHANED, signal.SIG_DFL)  # nohup ignores it, and forks inherit that
    os.register_at_fork(before=_remember_parent, after_in_child=_tie_to_parent)


def name_next_child(role: str) -> None:
    """Set the name of the next child."""
    global _role  # noqa: PLW0603 - a fork copies globals to the child
    _role = role


def _remember_parent() -> None:
    global _parent  # noqa: PLW0603 - as above
    _parent = os.getpid()


def _tie_to_parent() -> None:
    if _role:
        name_process(_role)
    signal_on_parent_death(_parent)
