"""What drills have in common: a portal with sample documents, a packet, hosts that work it."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.management import call_command

from audit.ledger.actors import OPERATIONS
from ingestion.core.states import BatchState
from ingestion.intake import manifest, registration
from ingestion.intake.submission import Submission
from ingestion.models import Batch, BatchSource, Document
from qualification.sandbox import Sandbox
from qualification.sandbox.programs import STOP_SECONDS, free_port
from samples.fixed_corpus import FixedCorpus, write_fixed_corpus
from samples.portal import SamplePortal, SiteLimit

Say = Callable[[str], object]
LOOK_SECONDS = 0.1
UNLIMITED = SiteLimit(1_000.0, 1_000)


class DrillFailed(Exception):
    """What was promised did not hold; the message says what, and by how much."""


@contextmanager
def offered(
    folder: Path, *, documents: int, limit: SiteLimit = UNLIMITED, told_burst: int = 0
) -> Iterator[tuple[SamplePortal, FixedCorpus]]:
    """A portal without faults that gives the first of the frozen documents, its sites loaded."""
    port = free_port()  # the documents' addresses name it
    samples = folder / "samples"
    frozen = write_fixed_corpus(samples, f"http://127.0.0.1:{port}", documents=documents)
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
    submission = Submission(BatchSource.MANIFEST, "system:drill", OPERATIONS)
    return registration.register_manifest(manifest.read_manifest(text), submission)


@contextmanager
def host(folder: Path, **changes: str) -> Iterator[Callable[[], int]]:
    """A worker host. Yields what stops it as an init does, and answers its exit code."""
    with Sandbox(folder).workers(**changes) as process:

        def stop() -> int:
            process.terminate()
            return process.wait(STOP_SECONDS)

        yield stop


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
