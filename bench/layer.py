"""The whole job layer, measured from outside: real hosts, a real broker, rows and ledger.

`python -m bench.layer SCENE OFFER` runs one scene on the database and broker that the environment
names, and prints one JSON object. What the scenes are for is in docs/benchmarks.
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
from bench import process

LOOK_SECONDS = 0.02  # between two looks at a row
RARELY_SECONDS = 1.0  # where a run takes many seconds: our looks cost it processor time
LONGEST_SECONDS = 2400.0
UPLOADER = "4001"  # the site that uploads
UPLOADED = ("form-fda-1572", "irb-approval", "lab-certification", "protocol-signature-page")
UPLOADS = 2  # alone, and beside a large batch, in each round
IDLE_BATCHES = 10  # of one document in each round, to a host that has nothing else to do
DRAIN_SECONDS = 300.0  # that a host may take to end: it signs what is new
AT_REST = 0.3  # of a core: more than a host takes that has nothing to do
BENCH = Actor.software("bench", OPERATIONS)


@contextmanager
def host(*, at_rest: bool = True) -> Iterator[None]:
    """`manage.py workers`, which is drained on the way out.

    `at_rest`: when all that it starts has started. Each of its workers imports what parsers need,
    which takes seconds of the processor, and is not to be measured with a batch.
    """
    command = [sys.executable, "manage.py", "workers"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as started:
        try:
            cast(IO[str], started.stdout).readline()  # it is ready
            if at_rest:
                until(_is_at_rest)
            yield
        finally:
            started.send_signal(signal.SIGTERM)
            started.wait(DRAIN_SECONDS)


def _is_at_rest() -> bool:
    """In the second that this takes."""
    before = process.used_so_far()
    time.sleep(1.0)
    return process.used_so_far() - before < AT_REST


def until(answer: Callable[[], Any], look_seconds: float = LOOK_SECONDS) -> Any:
    """The first true answer. Raises TimeoutError."""
    end = time.monotonic() + LONGEST_SECONDS
    while not (found := answer()):
        if time.monotonic() > end:
            raise TimeoutError("the work did not end")
        time.sleep(look_seconds)
    return found


def submit(offer: Path) -> Any:
    from ingestion.intake import manifest
    from ingestion.intake.registration import register_manifest
    from ingestion.intake.submission import Submission
    from ingestion.models import BatchSource

    lines = manifest.read_manifest((offer / "manifest.ndjson").read_text())
    return register_manifest(lines, Submission(BatchSource.MANIFEST, BENCH))


def is_final(batch: Any) -> bool:
    from ingestion.core.states import BatchState
    from ingestion.models import Batch

    return BatchState(Batch.objects.values_list("state", flat=True).get(pk=batch.pk)).is_final


def throughput(offer: Path, _rounds: int) -> Mapping[str, Any]:
    """Documents a second, from before they are submitted until their batch is final.

    With the seconds of the processor that this took us, the host and all that it started.
    """
    with host():
        start, before, own = datetime.now(UTC), process.used_so_far(), time.process_time()
        batch = submit(offer)
        own = time.process_time() - own  # and not for the looks
        until(lambda: is_final(batch), RARELY_SECONDS)
        cpu = own + process.used_so_far() - before
    batch.refresh_from_db()
    seconds = (batch.finished_at - start).total_seconds()  # not when we came to see it
    states = {str(state): n for state, n in batch.counts().items()}
    return {"rate": sum(states.values()) / seconds, "cpu": cpu, "states": states}


def latency(offer: Path, rounds: int) -> Mapping[str, Any]:
    """Seconds from submission to the portal's first request: one document at a time, at idle.

    And before each, how long a task of django-q2's waits in the same cluster: no ring is quicker.
    """
    from ingestion.intake.manifest import read_manifest
    from ingestion.intake.registration import register_manifest
    from ingestion.intake.submission import Submission
    from ingestion.models import BatchSource
    from samples.portal import SamplePortal, read_limits

    lines = read_manifest((offer / "manifest.ndjson").read_text())[: rounds * IDLE_BATCHES]
    port = urlsplit(lines[0].url).port or 0
    waits, bare = [], []
    limits = read_limits(offer / "sites.json")
    with SamplePortal(offer, limits, faults=0.0, port=port) as portal, host():
        for number, line in enumerate(lines):
            bare.append(_bare_task())
            start = time.monotonic()
            batch = register_manifest([line], Submission(BatchSource.MANIFEST, BENCH))
            waits.append(until(partial(_asked_at, portal, number)) - start)
            until(partial(is_final, batch))
    return {"waits": waits, "bare": bare}


def _bare_task() -> float:
    """Seconds until a worker has taken a task that does nothing."""
    from django_q.tasks import async_task, result

    start = time.time()
    taken_at: float = until(partial(result, async_task("time.time", save=True)))
    return taken_at - start


def _asked_at(portal: Any, number: int) -> float | None:
    """When its request of this number came, from 0."""
    return portal.requests[number].at if len(portal.requests) > number else None


def recovery(offer: Path, rounds: int) -> Mapping[str, Any]:
    """Seconds from the SIGKILL of the worker at work until a next document is settled.

    And those from the start of the host until a first one is: what to start it anew would take.
    """
    from ingestion.models import Chunk

    submit(offer)
    killed, started = [], []
    for _ in range(rounds):
        before, start = _settled(), time.monotonic()
        with host(at_rest=False):
            started.append(until(partial(_time_beyond, before)) - start)
            owner = Chunk.objects.exclude(lease_owner="").values_list("lease_owner", flat=True)[0]
            os.kill(int(owner.split(":")[1]), signal.SIGKILL)
            start = time.monotonic()
            time.sleep(0.5)  # what was committed before is there to see
            killed.append(until(partial(_time_beyond, _settled())) - start)
    return {"killed": killed, "started": started}


def _settled() -> int:
    from ingestion.models import Document

    return Document.objects.exclude(settled_at=None).count()


def _time_beyond(settled: int) -> float | None:
    """Now, when more than so many are settled."""
    return time.monotonic() if _settled() > settled else None


def fairness(offer: Path, rounds: int) -> Mapping[str, Any]:
    """Seconds that an upload of four files takes in a large batch, and alone, before and after."""
    from ingestion.documents import batches

    numbers = count()
    with host():
        _upload(next(numbers))  # the first of a host is slower
        before = [_upload(next(numbers)) for _ in range(rounds)]
        batch = submit(offer)
        time.sleep(10.0)  # the large batch is well under way
        beside = [_upload(next(numbers)) for _ in range(UPLOADS * rounds)]
        if is_final(batch):
            raise SystemExit("the large batch ended before the uploads did: take a larger one")
        batches.cancel_batch(batch, by=BENCH)
        until(partial(is_final, batch))
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
    until(lambda: is_final(packet.batch))
    return time.monotonic() - start


SCENES: Mapping[str, Callable[[Path, int], Mapping[str, Any]]] = {
    "throughput": throughput,
    "latency": latency,
    "recovery": recovery,
    "fairness": fairness,
}


def prepare(offer: Path) -> None:
    """Sites as ops would load them, and somebody who uploads."""
    from sites import account_changes
    from sites.models import Site, User

    call_command("migrate", verbosity=0)
    call_command("audit_keys", "create", stdout=StringIO())  # batches are signed when they close
    call_command("load_sites", str(offer / "sites.json"), verbosity=0)
    user = User.objects.create_user("bench", password="")
    first = Site.objects.order_by("pk")[0]
    Site.objects.create(
        study=first.study, portal=first.portal, site_id=UPLOADER, name="Uploads", country="Ireland"
    )
    with account_changes.on_record(user):
        user.memberships.create(site=Site.objects.get(site_id=UPLOADER))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scene", choices=SCENES)
    parser.add_argument("offer", type=Path)
    parser.add_argument("--rounds", type=int, default=1)
    asked = parser.parse_args()
    process.adopt()  # so that nobody's time is missed
    django.setup()
    prepare(asked.offer)
    sys.stdout.write(json.dumps(SCENES[asked.scene](asked.offer, asked.rounds)))


if __name__ == "__main__":
    main()
