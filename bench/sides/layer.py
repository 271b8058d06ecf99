"""Measures the whole job layer from outside: real hosts, a real broker, rows and ledger.

`python -m bench.sides.layer SCENE OFFER` runs one scene on the database and broker that the
environment names, and prints one JSON object. docs/benchmarks describes the scenes.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from io import StringIO
from itertools import count
from pathlib import Path
from typing import IO, Any, cast
from urllib.parse import urlsplit

import django
from django.core.files.base import ContentFile
from django.core.management import call_command

from audit.ledger.actors import OPERATIONS, Actor
from bench.installation import process

POLL_SECONDS = 0.02  # between two queries of a row
SLOW_POLL_SECONDS = 1.0  # for runs of many seconds, because queries take processor time
TIMEOUT_SECONDS = 2400.0
UPLOADER = "4001"  # the site that uploads
UPLOADED = ("form-fda-1572", "irb-approval", "lab-certification", "protocol-signature-page")
UPLOADS = 2  # alone, and during a large batch, in each round
IDLE_BATCHES = 10  # of one document in each round, with an idle host
DRAIN_SECONDS = 300.0  # for the end of a host, which signs new entries
MAX_IDLE_CORES = 0.3  # of a core; an idle host takes less
BENCH = Actor.software("bench", OPERATIONS)


@contextmanager
def host(*, at_rest: bool = True) -> Iterator[None]:
    """Run `manage.py workers`, and drain it at the end.

    `at_rest`: wait until everything has started. Each worker imports the modules of the parser,
    which takes seconds of processor time and must not be measured with a batch.
    """
    command = [sys.executable, "manage.py", "workers"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as started:
        try:
            cast(IO[str], started.stdout).readline()  # wait until it is ready
            if at_rest:
                wait_for(_is_at_rest)
            yield
        finally:
            started.send_signal(signal.SIGTERM)
            started.wait(DRAIN_SECONDS)


def _is_at_rest() -> bool:
    """Return whether the host was idle during the second that this call takes."""
    before = process.used_so_far()
    time.sleep(1.0)
    return process.used_so_far() - before < MAX_IDLE_CORES


def wait_for(condition: Callable[[], Any], poll_seconds: float = POLL_SECONDS) -> Any:
    """Call a function until its result is true, and return that. Raises TimeoutError."""
    end = time.monotonic() + TIMEOUT_SECONDS
    while not (result := condition()):
        if time.monotonic() > end:
            raise TimeoutError("the work did not end")
        time.sleep(poll_seconds)
    return result


def submit(offer: Path) -> Any:
    """Register the manifest of an offer, and return the batch."""
    from ingestion.intake import manifest
    from ingestion.intake.registration import register_manifest
    from ingestion.intake.submission import Submission
    from ingestion.models import BatchSource

    lines = manifest.read_manifest((offer / "manifest.ndjson").read_text())
    return register_manifest(lines, Submission(BatchSource.MANIFEST, BENCH))


def is_final(batch: Any) -> bool:
    """Return whether the batch has ended, from its row."""
    from ingestion.core.states import BatchState
    from ingestion.models import Batch

    return BatchState(Batch.objects.values_list("state", flat=True).get(pk=batch.pk)).is_final


def throughput(offer: Path, _rounds: int) -> Mapping[str, Any]:
    """Return the documents per second, from submission until the batch is final.

    Includes the processor seconds of this process, the host and all its children.
    """
    with host():
        start, before, own = datetime.now(UTC), process.used_so_far(), time.process_time()
        batch = submit(offer)
        own = time.process_time() - own  # without the queries below
        wait_for(lambda: is_final(batch), SLOW_POLL_SECONDS)
        cpu = own + process.used_so_far() - before
    batch.refresh_from_db()
    seconds = (batch.finished_at - start).total_seconds()  # not the time of our query
    states = {str(state): n for state, n in batch.counts().items()}
    return {"rate": sum(states.values()) / seconds, "cpu": cpu, "states": states}


def latency(offer: Path, rounds: int) -> Mapping[str, Any]:
    """Return how many seconds a submission of one document waits in an idle installation.

    `begun` is the time from the confirmed submission until a worker leases the document, and
    `waits` that from the begin of the submission to the first request at the portal. Before each,
    it measures how long a task of django-q2 waits in the same cluster (`bare`), which is the lower
    limit of a wakeup.
    """
    from django_q.tasks import async_task, result

    from ingestion.intake.manifest import read_manifest
    from ingestion.intake.registration import register_manifest
    from ingestion.intake.submission import Submission
    from ingestion.models import BatchSource
    from samples.portal import SamplePortal, read_limits

    def requested_at(portal: SamplePortal, number: int) -> float | None:
        """Return the time of the portal's request with this number, counted from 0, or None."""
        return portal.requests[number].at if len(portal.requests) > number else None

    lines = read_manifest((offer / "manifest.ndjson").read_text())[: rounds * IDLE_BATCHES]
    port = urlsplit(lines[0].url).port or 0
    waits, begun, bare = [], [], []
    limits = read_limits(offer / "sites.json")
    with SamplePortal(offer, limits, faults=0.0, port=port) as portal, host():
        for number, line in enumerate(lines):
            start_of_task = time.time()
            task = async_task("time.time", save=True)  # it returns when a worker has started it
            bare.append(wait_for(partial(result, task)) - start_of_task)
            start = time.monotonic()
            batch = register_manifest([line], Submission(BatchSource.MANIFEST, BENCH))
            confirmed_at = time.time()
            waits.append(wait_for(partial(requested_at, portal, number)) - start)
            wait_for(partial(is_final, batch))
            batch.refresh_from_db()
            if batch.started_at:  # It is set, because the batch is final.
                begun.append(batch.started_at.timestamp() - confirmed_at)
    return {"waits": waits, "begun": begun, "bare": bare}


def recovery(offer: Path, rounds: int) -> Mapping[str, Any]:
    """Return the seconds from the SIGKILL of a working worker until another document is settled.

    Also returns those from the start of the host until its first document is settled, for
    comparison with a restart.
    """
    from ingestion.models import Chunk

    submit(offer)
    killed, started = [], []
    for _ in range(rounds):
        before, start = _count_settled(), time.monotonic()
        with host(at_rest=False):
            started.append(wait_for(partial(_time_beyond, before)) - start)
            owner = Chunk.objects.exclude(lease_owner="").values_list("lease_owner", flat=True)[0]
            os.kill(int(owner.split(":")[1]), signal.SIGKILL)
            start = time.monotonic()
            time.sleep(0.5)  # until earlier commits are visible
            killed.append(wait_for(partial(_time_beyond, _count_settled())) - start)
    return {"killed": killed, "started": started}


def _count_settled() -> int:
    from ingestion.models import Document

    return Document.objects.exclude(settled_at=None).count()


def _time_beyond(settled: int) -> float | None:
    """Return the current time if more than this many documents are settled, else None."""
    return time.monotonic() if _count_settled() > settled else None


def fairness(offer: Path, rounds: int) -> Mapping[str, Any]:
    """Return the seconds of an upload of four files during a large batch, and alone."""
    from ingestion.documents import batches

    numbers = count()
    with host():
        _upload(next(numbers))  # the first upload of a host is slower
        before = [_upload(next(numbers)) for _ in range(rounds)]
        batch = submit(offer)
        time.sleep(10.0)  # until the large batch is being processed
        beside = [_upload(next(numbers)) for _ in range(UPLOADS * rounds)]
        if is_final(batch):
            raise SystemExit("the large batch ended before the uploads did: take a larger one")
        batches.cancel_batch(batch, by=BENCH)
        wait_for(partial(is_final, batch))
        after = [_upload(next(numbers)) for _ in range(rounds)]
    return {"alone": [*before, *after], "beside": beside}


def _upload(number: int) -> float:
    from ingestion.intake.registration import UploadedDocument, register_upload
    from samples.documents import make_sample
    from sites.models import Site, User

    today = datetime.now(UTC).date()
    files = [
        UploadedDocument(
            f"{kind}.pdf",
            kind,
            "",
            ContentFile(make_sample(kind, today=today) + b"%%upload %d\n" % number),
        )
        for kind in UPLOADED
    ]
    site, user = Site.objects.get(site_id=UPLOADER), User.objects.get(username="bench")
    start = time.monotonic()
    packet = register_upload(site=site, user=user, files=files)
    wait_for(lambda: is_final(packet.batch))
    return time.monotonic() - start


SCENES: Mapping[str, Callable[[Path, int], Mapping[str, Any]]] = {
    "throughput": throughput,
    "latency": latency,
    "recovery": recovery,
    "fairness": fairness,
}


def prepare(offer: Path) -> None:
    """Load the sites and create an account for uploads."""
    from sites import account_changes
    from sites.models import Site, User

    call_command("migrate", verbosity=0)
    call_command("audit_keys", "create", stdout=StringIO())  # to sign checkpoints
    call_command("load_sites", str(offer / "sites.json"), verbosity=0)
    user = User.objects.create_user("bench", password="")
    first = Site.objects.order_by("pk")[0]
    Site.objects.create(
        study=first.study, portal=first.portal, site_id=UPLOADER, name="Uploads", country="Ireland"
    )
    with account_changes.record_changes(user):
        user.memberships.create(site=Site.objects.get(site_id=UPLOADER))


def main() -> None:
    """Run the scene that the command line names, and print its results as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scene", choices=SCENES)
    parser.add_argument("offer", type=Path)
    parser.add_argument("--rounds", type=int, default=1)
    arguments = parser.parse_args()
    process.adopt()  # so that the time of orphans is counted
    django.setup()
    prepare(arguments.offer)
    sys.stdout.write(json.dumps(SCENES[arguments.scene](arguments.offer, arguments.rounds)))


if __name__ == "__main__":
    main()
