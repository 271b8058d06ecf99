"""A slower disk than this machine's: a shim below the program, with which each flush takes longer.

The design's figures are of disks that flush in 1 ms (PostgreSQL) and in 4 ms (SQLite).
"""

import shutil
import subprocess
from pathlib import Path

# To be loaded before libc. PostgreSQL and SQLite flush by fdatasync(), and now and then by fsync();
# sync_file_range() waits for no disk.
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

static int later(const char *name, int file)
{
    struct timespec delay = {0, DELAY};
    nanosleep(&delay, 0);
    return ((int (*)(int)) dlsym(RTLD_NEXT, name))(file);
}

int fsync(int file) { return later("fsync", file); }
int fdatasync(int file) { return later("fdatasync", file); }
"""


def slowed(folder: Path, milliseconds: int) -> Path | None:
    """The shim, for LD_PRELOAD; below 1000 ms. None where there is no compiler."""
    if not shutil.which("cc"):
        return None
    shim = folder / f"flush-{milliseconds}-ms.so"
    delay = f"-DDELAY={milliseconds * 1_000_000}"  # in nanoseconds
    command = ["cc", "-shared", "-fPIC", "-O2", delay, "-x", "c", "-", "-o", str(shim), "-ldl"]
    subprocess.run(command, input=SHIM, text=True, check=True)
    return shim
