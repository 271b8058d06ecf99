"""Provides a wall clock that can be changed while programs run.

It is a shim below them, as in `bench.installation.disk`. The time since boot does not change, as
when an administrator or a time server sets the clock. libfaketime is not used, because its
processes share a semaphore: a killed process would block the others.
"""

import shutil
import struct
import subprocess
from pathlib import Path

SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

static const volatile int64_t *ahead; /* seconds */

__attribute__((constructor)) static void map_file(void)
{
    int file = open(getenv("CHAOS_CLOCK"), O_RDONLY | O_CLOEXEC);
    ahead = mmap(0, sizeof *ahead, PROT_READ, MAP_SHARED, file, 0);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    static int (*real)(clockid_t, struct timespec *);
    if (!real)
        real = (int (*)(clockid_t, struct timespec *)) dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, now);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += *ahead;
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now)
{
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    if (now)
        *now = precise.tv_sec;
    return precise.tv_sec;
}
"""


class Clock:
    """The clock of all programs that are started with `environment`. It is correct at first."""

    def __init__(self, folder: Path) -> None:
        """Raise FileNotFoundError if there is no C compiler."""
        if not shutil.which("cc"):
            raise FileNotFoundError("no C compiler is installed: sudo apt-get install gcc")
        self._file, shim = folder / "clock", folder / "clock.so"
        self._file.write_bytes(struct.pack("q", 0))
        command = ["cc", "-shared", "-fPIC", "-O2", "-x", "c", "-", "-o", str(shim), "-ldl"]
        subprocess.run(command, input=SHIM, text=True, check=True)
        self.environment = {"LD_PRELOAD": str(shim), "CHAOS_CLOCK": str(self._file)}

    def set_ahead(self, seconds: int) -> None:
        """Set the clock ahead, or behind for a negative number, at once in all processes."""
        with self._file.open("r+b", buffering=0) as file:  # processes have mapped it
            file.write(struct.pack("q", seconds))
