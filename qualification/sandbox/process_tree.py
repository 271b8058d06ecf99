"""Finds the processes below a process, and reads the memory that they use, in proc(5)."""

from collections import defaultdict
from contextlib import suppress
from pathlib import Path


def list_process_tree(root: int) -> list[int]:
    """Return a process and its descendants."""
    children: defaultdict[int, list[int]] = defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and (stat := read_process_status(int(entry.name))):
            children[int(stat[1])].append(int(entry.name))
    family = [root]
    for pid in family:
        family += children[pid]
    return family


def read_memory(root: int) -> int:
    """Return the memory of a process and its descendants, with shared pages divided between them.

    A page that several processes share counts for each of them with its part (Pss in proc(5)).
    """
    kibibytes = 0
    for pid in list_process_tree(root):
        with suppress(OSError):  # it has just ended
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
            kibibytes += sum(
                int(line.split()[1]) for line in rollup.splitlines() if line[:4] == "Pss:"
            )
    return kibibytes * 1024


def is_running(pid: int) -> bool:
    """Return whether a process has not ended. A process that waits for its parent has ended."""
    status = read_process_status(pid)
    return bool(status) and status[0] != "Z"


def read_process_status(pid: int) -> list[str]:
    """Return the fields of proc(5) from the state on, or none for a process that has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
