"""Finds the processes of a host by their role, from /proc."""

import os
from contextlib import suppress
from pathlib import Path


def find(host: int, role: str) -> set[int]:
    """Return the processes of a role: cluster, sentinel, worker, monitor, pusher, parser, all."""
    family = descendants(host) - {host}
    if role == "all":
        return family
    if role == "parser":  # each leads a session, as the first process of a cluster does
        leaders = set()
        for pid in family:
            with suppress(ProcessLookupError):  # it has just ended
                if os.getsid(pid) == pid and name_of(pid) != "sl-cluster":
                    leaders.add(pid)
        return leaders
    return {pid for pid in family if name_of(pid) == f"sl-{role}"}


def name_of(pid: int) -> str:
    """Return the name of a process, or an empty string if it has ended."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def is_running(pid: int) -> bool:
    """Return whether a process runs. A zombie, which waits for its parent, does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def descendants(pid: int) -> set[int]:
    """Return the processes whose ancestor or session is `pid`, and `pid` while it runs."""
    family, rows = {pid}, []
    for process in Path("/proc").iterdir():
        try:
            own, rest = int(process.name), (process / "stat").read_text().rsplit(")", 1)[1].split()
        except (OSError, ValueError):  # not a process, or one that has just ended
            continue
        rows.append((own, int(rest[1]), int(rest[3]), rest[0]))
    has_grown = True
    while has_grown:
        new = {own for own, parent, session, _ in rows if parent in family or session in family}
        has_grown = not new <= family
        family |= new
    return {own for own, _, _, state in rows if own in family and state != "Z"}


def find_by_folder(folder: Path) -> set[int]:
    """Return the processes with a folder in their command line, also of killed hosts."""
    pids = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            is_named = str(folder) in (process / "cmdline").read_text(errors="replace")
        except OSError:  # it has just ended
            continue
        if is_named and int(process.name) != os.getpid():
            pids.add(int(process.name))
    return pids
