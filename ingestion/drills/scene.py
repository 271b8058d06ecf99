"""What drills have in common: a portal with sample documents, a packet, hosts that work it."""

import json
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.management import call_command

from ingestion import manifest, register
from ingestion.core.states import BatchState
from ingestion.drills.place import DrillFailed, manage
from ingestion.models import Batch, Document, Source
from ingestion.samples.frozen import Frozen, write
from ingestion.samples.portal import Limit, SamplePortal

Say = Callable[[str], object]
LOOK_SECONDS = 0.1
BOOT_SECONDS = 60.0
STOP_SECONDS = 70.0
UNLIMITED = Limit(1_000.0, 1_000)


def free_port() -> int:
    """The documents' addresses name the portal's port, so it is chosen before they are made."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def offered(
    folder: Path, *, documents: int, limit: Limit = UNLIMITED, told_burst: int = 0
) -> Iterator[tuple[SamplePortal, Frozen]]:
    """A portal without faults that gives the first of the frozen documents, its sites loaded."""
    port = free_port()
    samples = folder / "samples"
    frozen = write(samples, f"http://127.0.0.1:{port}", documents=documents)
    for site in frozen.sites:
        told = {"rate_per_second": limit.rate_per_second, "burst": told_burst or limit.burst}
        site["portal"] |= told
    (samples / "sites.json").write_text(json.dumps(frozen.sites))
    call_command("load_sites", str(samples / "sites.json"), verbosity=0)
    limits = {site["site_id"]: limit for site in frozen.sites}
    with SamplePortal(samples, limits, faults=0.0, port=port) as portal:
        yield portal, frozen


def submit(text: str) -> Batch:
    """Raises AtCapacity."""
    submission = register.Submission(Source.MANIFEST, "system:drill", "ops")
    return register.register_manifest(manifest.read(text), submission)


@contextmanager
def host(folder: Path, **changes: str) -> Iterator[Callable[[], int]]:
    """A worker host. Yields what stops it as an init does, and answers its exit code."""
    process = manage(folder, "workers", **changes)

    def stop() -> int:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        return process.wait(STOP_SECONDS)

    try:
        if process.stdout is None or "Working" not in process.stdout.readline():
            raise DrillFailed("the worker host did not start")
        yield stop
    finally:
        stop()
        if process.stdout is not None:
            process.stdout.close()


def until(is_so: Callable[[], bool], what: str, seconds: float = 1800.0) -> None:
    """Raises DrillFailed when it never comes true."""
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            raise DrillFailed(f"within {seconds:.0f} s it did not come to this: {what}")
        time.sleep(LOOK_SECONDS)


def is_completed(batch: Batch) -> bool:
    batch.refresh_from_db()
    return batch.state == BatchState.COMPLETED


def settled() -> int:
    return Document.objects.exclude(settled_at=None).count()


def demand(holds: object, otherwise: str) -> None:
    """Raises DrillFailed unless it holds."""
    if not holds:
        raise DrillFailed(otherwise)
