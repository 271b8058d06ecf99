"""Patches django-q2's cluster where one killed process would silently stop all the others.

It is the only module that patches django-q2. `PATCHED_RELEASES` are the releases to which the
patches apply, and `requirements.in` permits no others. `PATCHED_SOURCES` are fingerprints of the
code that the patches replace or rely on, and of the broker that `dispatch.wakeup_broker` extends in
the documented way: a test compares them with the installed release, and another one with each
permitted release. Before you permit a new release, read what changed in this code, and run the
tests of `tests/ingestion/dispatch/processes`.

Two patches correct faults of django-q2, and `deploy/upstream/django-q2-cluster.patch` is ready to
be proposed there:

1. A cluster stops outside of its signal handler. Stopping joins the sentinel and acquires the locks
   of events. If the signal arrives while the main process holds one, it waits for ever.
2. A monitor that was killed while it waited for a result leaves the lock of the result queue
   locked, and the next monitor never receives a result.
The others are ours: the workers drain by a shared byte (`drain`), and each process has the name of
its role and ends with its parent (`parent_death`).
"""

import os
import signal
import threading
import time
from collections.abc import Mapping
from multiprocessing.process import BaseProcess
from types import FrameType
from typing import Any

from django_q import cluster

from ingestion.dispatch.processes import drain, parent_death

PATCHED_RELEASES = ("1.11.0", "1.11.1")
# The first 16 digits of the SHA-256 of the source of functions of django_q.cluster and
# django_q.brokers.orm.
PATCHED_SOURCES: Mapping[str, str] = {
    "Cluster.__init__": "c5348622d21ccdd0",
    "Cluster.start": "e4f4605cb538654d",
    "Cluster.stop": "b0df745727b2a3a5",
    "Cluster.sig_handler": "5f1381e51aeab809",
    "Sentinel.spawn_process": "2ca20a94625e7aeb",
    "Sentinel.spawn_monitor": "3791c0a2bc5c921c",
    "Sentinel.reincarnate": "8596a48d4d735103",
    "Sentinel.guard": "1a0f3e06bd52afd6",
    "Sentinel.stop": "e535edd04b1f4c30",
    "ORM.get_connection": "6959e58a04110c98",
    "ORM.timeout": "31e43152e8787334",
    "ORM.enqueue": "e7b30d75a605cb06",
    "ORM.dequeue": "90128c4630cdb44b",
    "ORM.acknowledge": "17cff537ccab2c81",
}
MAX_CLUSTER_STOP_SECONDS = 60.0  # of a cluster without a host; a host kills it sooner


class Cluster(cluster.Cluster):  # type: ignore[misc] # django-q2 has no types
    """Stops outside of the signal handler, and kills its session if stopping takes too long."""

    is_stop_requested = False

    def run(self) -> None:
        """Run until the sentinel has ended."""
        parent_death.name_next_child("sentinel")
        self.start()
        stopping_since = 0.0
        while self.sentinel.is_alive():
            if self.is_stop_requested and not stopping_since:
                stopping_since = time.monotonic()
                threading.Thread(target=self.stop, daemon=True).start()
            if stopping_since and time.monotonic() - stopping_since > MAX_CLUSTER_STOP_SECONDS:
                os.killpg(0, signal.SIGKILL)
            time.sleep(0.1)

    def sig_handler(self, signum: int, frame: FrameType | None) -> None:
        """Start to drain the workers, and request a stop of the cluster."""
        # django-q2 does not tell its workers to stop, so they drain by a shared byte. The loop of
        # `run` stops the cluster and not this handler, because stopping acquires locks, and a
        # killed sentinel never releases its locks.
        drain.start_draining()
        self.is_stop_requested = True


class Sentinel(cluster.Sentinel):  # type: ignore[misc] # see above
    """Names its children, and frees the lock of a monitor that was killed."""

    def spawn_process(self, target: Any, *args: Any) -> BaseProcess:
        """Start a process that has the name of its target, and return it."""
        parent_death.name_next_child(target.__name__)
        process: BaseProcess = super().spawn_process(target, *args)
        return process

    def reincarnate(self, process: BaseProcess) -> None:
        """Replace a dead process. The lock that a dead monitor held is released first."""
        if process == self.monitor:
            # The monitor is the only reader of the results, and it holds their lock while it waits
            # for one. If the lock is held now, the dead monitor held it, and the next one would
            # wait for ever: no result would be saved, and stopping would take `timeout` seconds.
            lock = self.result_queue._rlock  # noqa: SLF001 - there is no other way
            lock.acquire(block=False)
            lock.release()
        super().reincarnate(process)


# Cluster.start() creates the class that has this name in the module.
cluster.Sentinel = Sentinel
