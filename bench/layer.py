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
from pathlib import Path
from typing import IO, Any, cast
from urllib.parse import urlsplit

import django
from django.core.files.base import ContentFile
from django.core.management import call_command

LOOK_SECONDS = 0.02  # between two looks at a row
RARELY_SECONDS = 1.0  # where a run takes many seconds: our looks cost it processor time
LONGEST_SECONDS = 1200.0
UPLOADER = "4001"  # the site that uploads
UPLOADED = ("form-fda-1572", "irb-approval", "lab-certification", "protocol-signature-page")
UPLOADS = 5
IDLE_BATCHES = 30  # of one document, to a host that has nothing else to do


@contextmanager
def host() -> Iterator[int]:
    """`manage.py workers`; answers its process. Drained on the way out."""
    command = [sys.executable, "manage.py", "workers"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            cast(IO[str], process.stdout).readline()  # it is ready
            time.sleep(3.0)  # and so is its cluster
            yield process.pid
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(90)


def until(answer: Callable[[], Any], look_seconds: float = LOOK_SECONDS) -> Any:
    """The first true answer. Raises TimeoutError."""
    end = time.monotonic() + LONGEST_SECONDS
    while not (found := answer()):
        if time.monotonic() > end:
            raise TimeoutError("the work did not end")
        time.sleep(look_seconds)
    return found


def submit(offer: Path) -> Any:
    from ingestion import manifest
    from ingestion.models import Source
    from ingestion.register import Submission, register_manifest

    lines = manifest.read((offer / "manifest.ndjson").read_text())
    return register_manifest(lines, Submission(Source.MANIFEST, "system:bench", "ops"))


def is_final(batch: Any) -> bool:
    from ingestion.core.states import BatchState
    from ingestion.models import Batch

    return BatchState(Batch.objects.values_list("state", flat=True).get(pk=batch.pk)).is_final


def throughput(offer: Path) -> Mapping[str, Any]:
    """Documents a second, from before they are submitted until their batch is final."""
    with host():
        start = datetime.now(UTC)
        batch = submit(offer)
        until(lambda: is_final(batch), RARELY_SECONDS)
    batch.refresh_from_db()
    seconds = (batch.finished_at - start).total_seconds()  # not when we came to see it
    states = {str(state): n for state, n in batch.counts().items()}
    return {"rate": sum(states.values()) / seconds, "seconds": seconds, "states": states}


def latency(offer: Path) -> Mapping[str, Any]:
    """Seconds from submission to the portal's first request: one document at a time, at idle."""
    from ingestion.manifest import read
    from ingestion.models import Source
    from ingestion.register import Submission, register_manifest
    from ingestion.samples.portal import SamplePortal, limits_of

    lines = read((offer / "manifest.ndjson").read_text())[:IDLE_BATCHES]
    port = urlsplit(lines[0].url).port or 0
    waits = []
    limits = limits_of(offer / "sites.json")
    with SamplePortal(offer, limits, faults=0.0, port=port) as portal, host():
        for number, line in enumerate(lines):
            start = time.monotonic()
            batch = register_manifest([line], Submission(Source.MANIFEST, "system:bench", "ops"))
            waits.append(until(partial(_asked_at, portal, number)) - start)
            until(partial(is_final, batch))
    return {"waits": sorted(waits)}


def _asked_at(portal: Any, number: int) -> float | None:
    """When its request of this number came, from 0."""
    return portal.requests[number].at if len(portal.requests) > number else None


def recovery(offer: Path) -> Mapping[str, Any]:
    """Seconds from the SIGKILL of the worker at work until a next document is settled."""
    from ingestion.models import Chunk, Document

    with host():
        batch = submit(offer)
        until(lambda: Document.objects.exclude(settled_at=None).exists())
        owner = Chunk.objects.exclude(lease_owner="").values_list("lease_owner", flat=True)[0]
        os.kill(int(owner.split(":")[1]), signal.SIGKILL)
        time.sleep(0.5)  # what was committed before is there to see
        settled = Document.objects.exclude(settled_at=None).count()
        start = time.monotonic()
        until(lambda: Document.objects.exclude(settled_at=None).count() > settled)
        seconds = time.monotonic() - start + 0.5
        until(lambda: is_final(batch))
    states = {str(state): n for state, n in batch.counts().items()}
    return {"seconds": seconds, "states": states}


def fairness(offer: Path) -> Mapping[str, Any]:
    """Seconds that an upload of four files takes with nothing else to do, and in a large batch."""
    with host():
        alone = [_upload(number) for number in range(UPLOADS)]
        submit(offer)
        time.sleep(10.0)  # the large batch is well under way
        beside = [_upload(UPLOADS + number) for number in range(UPLOADS)]
    return {"alone": sorted(alone), "beside": sorted(beside)}


def _upload(number: int) -> float:
    from ingestion.register import UploadedDocument, upload_packet
    from ingestion.samples.specimens import specimen
    from sites.models import Site, User

    today = datetime.now(UTC).date()
    files = [
        UploadedDocument(
            f"{kind}.pdf",
            kind,
            "",
            ContentFile(specimen(kind, today=today) + b"%%upload %d\n" % number),
        )
        for kind in UPLOADED
    ]
    site, user = Site.objects.get(site_id=UPLOADER), User.objects.get(username="bench")
    start = time.monotonic()
    packet = upload_packet(site=site, user=user, files=files)
    until(lambda: is_final(packet.batch))
    return time.monotonic() - start


SCENES: Mapping[str, Callable[[Path], Mapping[str, Any]]] = {
    "throughput": throughput,
    "latency": latency,
    "recovery": recovery,
    "fairness": fairness,
}


def prepare(offer: Path) -> None:
    """Sites as ops would load them, and somebody who uploads."""
    from sites.models import Site, User

    call_command("migrate", verbosity=0)
    call_command("load_sites", str(offer / "sites.json"), verbosity=0)
    user = User.objects.create_user("bench", password="")
    first = Site.objects.order_by("pk")[0]
    Site.objects.create(
        study=first.study, portal=first.portal, site_id=UPLOADER, name="Uploads", country="Ireland"
    )
    user.memberships.create(site=Site.objects.get(site_id=UPLOADER))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scene", choices=SCENES)
    parser.add_argument("offer", type=Path)
    asked = parser.parse_args()
    django.setup()
    prepare(asked.offer)
    sys.stdout.write(json.dumps(SCENES[asked.scene](asked.offer)))


if __name__ == "__main__":
    main()
