"""Prepares drills: a portal with sample documents, a submitted packet, worker hosts."""

import json
import subprocess
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
from qualification.sandbox.process_tree import is_running, list_process_tree
from qualification.sandbox.programs import STOP_SECONDS, find_free_port
from samples.fixed_corpus import FixedCorpus, write_fixed_corpus
from samples.people_and_sites import SITES
from samples.portal import SamplePortal, SiteLimit

Print = Callable[[str], object]  # prints one line of a drill's report
POLL_SECONDS = 0.1
TIMEOUT_SECONDS = 1800.0
UNLIMITED = SiteLimit(1_000.0, 1_000)


class DrillFailed(Exception):
    """A promise was not kept. The message says which, with the numbers that were measured."""


@contextmanager
def run_sample_portal(
    folder: Path,
    *,
    documents: int,
    sites: int = len(SITES),
    has_scans: bool = False,
    limit: SiteLimit = UNLIMITED,
) -> Iterator[tuple[SamplePortal, FixedCorpus]]:
    """Load the sites of the first `documents` documents, and serve these without faults.

    The portals announce `limit`, and enforce it.
    """
    port = find_free_port()  # The addresses of the documents contain it.
    samples = folder / "samples"
    corpus = write_fixed_corpus(
        samples,
        f"http://127.0.0.1:{port}",
        documents=documents,
        sites=sites,
        has_scans=has_scans,
    )
    for site in corpus.sites:
        site["portal"] |= {"rate_per_second": limit.rate_per_second, "burst": limit.burst}
    (samples / "sites.json").write_text(json.dumps(corpus.sites))
    call_command("load_sites", str(samples / "sites.json"), verbosity=0)
    limits = {site["site_id"]: limit for site in corpus.sites}
    with SamplePortal(samples, limits, faults=0.0, port=port) as portal:
        yield portal, corpus


def submit_manifest(text: str) -> Batch:
    """Register a manifest. Raises AtCapacity."""
    submission = Submission(BatchSource.MANIFEST, Actor.software("drill", OPERATIONS))
    return registration.register_manifest(manifest.read_manifest(text), submission)


class RunningHost:
    """A worker host that runs."""

    def __init__(self, program: "subprocess.Popen[str]") -> None:
        self._program = program

    @property
    def process(self) -> int:
        """Return the number of its main process."""
        return self._program.pid

    def stop(self) -> None:
        """Stop the host with SIGTERM, as an init process does.

        Raises DrillFailed if its exit code is not 0, or if one of its processes is left.
        """
        processes = list_process_tree(self.process)
        self._program.terminate()
        exit_code = self._program.wait(STOP_SECONDS)
        require(exit_code == 0, f"the host ended with exit code {exit_code} instead of 0")
        left = [str(process) for process in processes if is_running(process)]
        require(not left, f"processes of the stopped host are left: {', '.join(left)}")


@contextmanager
def run_worker_host(folder: Path, **settings: str) -> Iterator[RunningHost]:
    """Run a worker host until the block ends."""
    with Sandbox(folder).workers(**settings) as program:
        yield RunningHost(program)


def wait_until(
    is_true: Callable[[], bool], condition: str, *, poll_seconds: float = POLL_SECONDS
) -> None:
    """Wait for a condition. Raises DrillFailed if it is not met in time."""
    end = time.monotonic() + TIMEOUT_SECONDS
    while not is_true():
        if time.monotonic() > end:
            raise DrillFailed(f"not met within {TIMEOUT_SECONDS:.0f} s: {condition}")
        time.sleep(poll_seconds)


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
