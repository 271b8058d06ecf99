"""Names the processes of a cluster, and ends each of them when its parent dies.

If the main process or the sentinel of django-q2 is killed, the orphaned workers continue to take
tasks. With this module, the kernel sends SIGHUP to each process whose parent dies: an idle process
ends at once, and a shift drains first (`drain`). It uses prctl(2), so it works on Linux only.
`ps -eo pid,ppid,comm` shows the names, which begin with `sl-`.
"""

import ctypes
import os
import signal

PR_SET_PDEATHSIG, PR_SET_NAME = 1, 15  # linux/prctl.h
ORPHANED = signal.SIGHUP

_libc = ctypes.CDLL(None)
_parent = 0  # the id of the process that is about to fork
_own_parent = 0  # the id of the process that forked this one; 0: another program started it
_role = ""  # the name of the next child


def name_process(role: str) -> None:
    """Set the name of this process to `sl-` and the role. The kernel keeps 15 characters."""
    _libc.prctl(PR_SET_NAME, f"sl-{role}".encode()[:15], 0, 0, 0)


def signal_on_parent_death(parent: int, number: int = ORPHANED) -> None:
    """Let the kernel send a signal to this process when its parent dies.

    `parent` is the expected process id. If another process is the parent, it has died already, and
    the signal is sent at once.
    """
    _libc.prctl(PR_SET_PDEATHSIG, int(number), 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), number)


def tie_forked_processes() -> None:
    """Name every process that is forked from now on, and end it with its parent.

    Call it once: the hooks of a fork cannot be removed.
    """

    def remember_parent() -> None:
        global _parent  # noqa: PLW0603 - a fork copies globals to the child
        _parent = os.getpid()

    def tie_to_parent() -> None:
        global _own_parent  # noqa: PLW0603 - as above
        _own_parent = _parent
        if _role:
            name_process(_role)
        signal_on_parent_death(_parent)

    signal.signal(ORPHANED, signal.SIG_DFL)  # nohup ignores it, and forks inherit that
    os.register_at_fork(before=remember_parent, after_in_child=tie_to_parent)


def is_orphaned() -> bool:
    """Return whether the process that forked this one has ended."""
    return _own_parent > 0 and os.getppid() != _own_parent


def name_next_child(role: str) -> None:
    """Set the name that the next forked process receives."""
    global _role  # noqa: PLW0603 - a fork copies globals to the child
    _role = role
