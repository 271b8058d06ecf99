"""Prepares drills: a portal with sample documents, a submitted packet, worker hosts."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.management import call_command

from audit.ledger.actors import OPERATIONS, Actor
from ingestion.core.states import BatchState
from ingestion.intake import manifest, registration
from ingestion.intake.submission import Submission
from ingestion.models import Batch, BatchSource, Document
from qualification.sandbox import Sandbox
from qualification.sandbox.programs import STOP_SECONDS, find_free_port
from samples.fixed_corpus import FixedCorpus, write_fixed_corpus
from samples.portal import SamplePortal, SiteLimit

Print = Callable[[str], object]  # prints one line of a drill's report
POLL_SECONDS = 0.1
TIMEOUT_SECONDS = 1800.0
UNLIMITED = SiteLimit(1_000.0, 1_000)


class DrillFailed(Exception):
    """A promise was not kept. The message says which, with the numbers that were measured."""


@contextmanager
def run_sample_portal(
    folder: Path, *, documents: int, limit: SiteLimit = UNLIMITED, announced_burst: int = 0
) -> Iterator[tuple[SamplePortal, FixedCorpus]]:
    """Load the sites of the first `documents` documents, and serve these without faults.

    The portal enforces `limit`. `announced_burst` is the burst in the row of the portal, if it is
    to differ from the enforced one.
    """
    port = find_free_port()  # The addresses of the documents contain it.
    samples = folder / "samples"
    corpus = write_fixed_corpus(samples, f"http://127.0.0.1:{port}", documents=documents)
    for site in corpus.sites:
        site["portal"] |= {
            "rate_per_second": limit.rate_per_second,
            "burst": announced_burst or limit.burst,
        }
    (samples / "sites.json").write_text(json.dumps(corpus.sites))
    call_command("load_sites", str(samples / "sites.json"), verbosity=0)
    limits = {site["site_id"]: limit for site in corpus.sites}
    with SamplePortal(samples, limits, faults=0.0, port=port) as portal:
        yield portal, corpus


def submit_manifest(text: str) -> Batch:
    """Register a manifest. Raises AtCapacity."""
    submission = Submission(BatchSource.MANIFEST, Actor.software("drill", OPERATIONS))
    return registration.register_manifest(manifest.read_manifest(text), submission)


@contextmanager
def run_worker_host(folder: Path, **settings: str) -> Iterator[Callable[[], int]]:
    """Run a worker host until the block ends.

    Yields a function that stops the host with SIGTERM, as an init process does, and returns its
    exit code.
    """
    with Sandbox(folder).workers(**settings) as process:

        def stop() -> int:
            process.terminate()
            return process.wait(STOP_SECONDS)

        yield stop


def wait_until(is_true: Callable[[], bool], condition: str) -> None:
    """Wait for a condition. Raises DrillFailed if it is not met in time."""
    end = time.monotonic() + TIMEOUT_SECONDS
    while not is_true():
        if time.monotonic() > end:
            raise DrillFailed(f"not met within {TIMEOUT_SECONDS:.0f} s: {condition}")
        time.sleep(POLL_SECONDS)


def is_completed(batch: Batch) -> bool:
    """Return whether the batch is completed, after reading its row again."""
    batch.refresh_from_db()
    return batch.state == BatchState.COMPLETED


def count_settled() -> int:
    """Return the number of documents in the database that are settled."""
    return Document.objects.exclude(settled_at=None).count()


def require(condition: object, message: str) -> None:
    """Raise DrillFailed with the message unless the condition is true."""
    if not condition:
        raise DrillFailed(message)
