"""Simulates a slower disk: a shim below the program delays each flush.

The figures of the design are for disks that flush in 1 ms (PostgreSQL) and in 4 ms (SQLite).
"""

import shutil
import subprocess
from pathlib import Path

# Loaded before libc. PostgreSQL and SQLite flush with fdatasync(), and sometimes with fsync().
# sync_file_range() does not wait for the disk.
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

static int flush_slowly(const char *name, int file)
{
    struct timespec delay = {0, DELAY};
    nanosleep(&delay, 0);
    return ((int (*)(int)) dlsym(RTLD_NEXT, name))(file);
}

int fsync(int file) { return flush_slowly("fsync", file); }
int fdatasync(int file) { return flush_slowly("fdatasync", file); }
"""


def slowed(folder: Path, milliseconds: int) -> Path | None:
    """Return the shim for LD_PRELOAD, or None without a compiler. The delay is below 1000 ms."""
    if not shutil.which("cc"):
        return None
    shim = folder / f"flush-{milliseconds}-ms.so"
    delay = f"-DDELAY={milliseconds * 1_000_000}"  # in nanoseconds
    command = ["cc", "-shared", "-fPIC", "-O2", delay, "-x", "c", "-", "-o", str(shim), "-ldl"]
    subprocess.run(command, input=SHIM, text=True, check=True)
    return shim
