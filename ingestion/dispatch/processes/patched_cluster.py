"""django-q2's cluster, mended where one killed process would quietly cost all the others.

Its processes are named, end with their parent (`ties`), drain when they are told to stop (`drain`),
and a killed monitor does not keep the lock of the queue that the next one has to read.
"""

import os
import signal
import threading
import time
from multiprocessing.process import BaseProcess
from types import FrameType
from typing import Any

from django_q import cluster

from ingestion.dispatch.processes import drain, parent_death

LONGEST_STOP_SECONDS = 60.0  # a host kills its cluster sooner; this is for one that lost its host


class Cluster(cluster.Cluster):  # type: ignore[misc] # django-q2 has no types
    told = False

    def run(self) -> None:
        """Until its sentinel has ended."""
        parent_death.next_is("sentinel")
        self.start()
        stopping_since = 0.0
        while self.sentinel.is_alive():
            if self.told and not stopping_since:
                stopping_since = time.monotonic()
                threading.Thread(target=self.stop, daemon=True).start()
            if stopping_since and time.monotonic() - stopping_since > LONGEST_STOP_SECONDS:
                os.killpg(0, signal.SIGKILL)
            time.sleep(0.1)

    def sig_handler(self, signum: int, frame: FrameType | None) -> None:
        # django-q2 tells its workers nothing; the flag does. Stopping is left to the loop of
        # `run`: it takes locks, and one that a killed sentinel held is never given back.
        drain.start()
        self.told = True


class Sentinel(cluster.Sentinel):  # type: ignore[misc] # the same
    def spawn_process(self, target: Any, *args: Any) -> BaseProcess:
        parent_death.next_is(target.__name__)
        process: BaseProcess = super().spawn_process(target, *args)
        return process

    def reincarnate(self, process: BaseProcess) -> None:
        if process == self.monitor:
            # It waits with the lock of the results in its hands, and is their only reader: held
            # now is held by the dead, and its successor would wait for ever. Nothing would be
            # saved or acknowledged any more, and stopping would take `timeout` seconds.
            lock = self.result_queue._rlock  # noqa: SLF001 - there is no other way to it
            lock.acquire(block=False)
            lock.release()
        super().reincarnate(process)


# Cluster.start() takes whatever stands there under this name.
cluster.Sentinel = Sentinel
