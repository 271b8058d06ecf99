"""Shows that a full queue blocks its producer, and that memory does not grow with large packets.

One portal serves 300 MB faster than the only parser process can read them. The producer is the task
of the worker that feeds the documents of a chunk to the queue of the portal. It counts an attempt
of each document that it feeds, and a blocked producer counts no more of them.
"""

import json
import random
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import pikepdf
from django.conf import settings
from PIL import Image

from ingestion.dispatch.shift import DOCUMENTS_FED_TOGETHER
from ingestion.models import Document
from qualification.drills.setup import (
    Print,
    count_settled,
    is_completed,
    require,
    run_sample_portal,
    run_worker_host,
    submit_manifest,
    wait_until,
)
from qualification.sandbox.process_tree import read_memory
from samples.portal import SamplePortal

DOCUMENTS, MEGABYTES = 150, 300
FETCHERS = SETTLERS = 2
SETTINGS = {
    "FETCHERS": str(FETCHERS),
    "SETTLERS": str(SETTLERS),
    "PARSER_PROCESSES": "1",
    "CHUNK_SIZE": str(DOCUMENTS),  # so that the producer has all documents at once
}
# Documents that left the queue and are not settled: they are being fetched, wait to be read, or are
# being read.
MAX_FETCHED = FETCHERS + 2 * SETTLERS
MEASURE_SECONDS = 0.25  # between two measurements
WARM_DOCUMENTS = DOCUMENTS // 5  # after which no process grows any more
# Equal numbers of documents are compared, because the largest of few measurements is smaller.
COMPARED_DOCUMENTS = 2 * DOCUMENTS // 5
MAX_GROWTH_MB = 20  # documents that were kept would add more than twice as much
PICTURE_SIZE = (1_000, 830)  # pixels; as JPEG with noise about 2 MB


@dataclass(slots=True)
class Measurement:
    """Holds the largest values that were seen while the documents were processed."""

    early_bytes: int = 0  # memory with the first COMPARED_DOCUMENTS after WARM_DOCUMENTS
    late_bytes: int = 0  # memory with the last COMPARED_DOCUMENTS
    begun: int = 0  # documents that the producer had fed, and that were not settled
    fetched: int = 0  # documents that the portal had served, and that were not settled

    def add(self, portal: SamplePortal, process: int) -> None:
        """Measure once. A settled document is counted first, so no value is too large."""
        served = len(portal.requests)
        begun = Document.objects.filter(attempts__gt=0).count()
        settled = count_settled()
        memory = read_memory(process)
        if WARM_DOCUMENTS <= settled < WARM_DOCUMENTS + COMPARED_DOCUMENTS:
            self.early_bytes = max(self.early_bytes, memory)
        elif settled >= DOCUMENTS - COMPARED_DOCUMENTS:
            self.late_bytes = max(self.late_bytes, memory)
        self.begun = max(self.begun, begun - settled)
        self.fetched = max(self.fetched, served - settled)


def run(folder: Path, report: Print) -> None:
    """Run the drill in this folder. Raises DrillFailed if the promise is not kept."""
    depth = settings.INGEST_LIMITS.queue_depth
    measurement = Measurement()
    with run_sample_portal(folder, documents=1) as (portal, corpus):
        manifest, size = write_large_documents(folder / "samples" / "files", corpus.manifest)
        batch = submit_manifest(manifest)
        with run_worker_host(folder, **SETTINGS) as host:

            def is_settled() -> bool:
                measurement.add(portal, host.process)
                return is_completed(batch)

            wait_until(is_settled, "all documents are settled", poll_seconds=MEASURE_SECONDS)
    max_begun = depth + DOCUMENTS_FED_TOGETHER + MAX_FETCHED
    require(size >= MEGABYTES * 1_000_000, f"the documents have only {size} bytes")
    require(
        MAX_FETCHED < measurement.begun <= max_begun,
        f"{measurement.begun} documents were begun and not settled, instead of up to {max_begun}",
    )
    require(
        measurement.fetched <= MAX_FETCHED,
        f"{measurement.fetched} documents were fetched and not settled",
    )
    early_mb, late_mb = measurement.early_bytes / 1e6, measurement.late_bytes / 1e6
    require(
        late_mb - early_mb <= MAX_GROWTH_MB,
        f"memory grew from {early_mb:.0f} MB to {late_mb:.0f} MB",
    )
    report(
        f"{DOCUMENTS} documents with {size / 1e6:.0f} MB passed a queue of {depth}, {FETCHERS} "
        "fetchers and one parser process."
    )
    report(
        f"The producer was blocked: of {DOCUMENTS} documents, at most {measurement.begun} were "
        f"begun and not settled (allowed are {max_begun}), and at most {measurement.fetched} were "
        f"fetched and not settled (allowed are {MAX_FETCHED})."
    )
    report(
        f"Memory of all processes of the host: at most {early_mb:.0f} MB with documents "
        f"{WARM_DOCUMENTS + 1} to {WARM_DOCUMENTS + COMPARED_DOCUMENTS}, and {late_mb:.0f} MB with "
        f"the last {COMPARED_DOCUMENTS} (allowed are {MAX_GROWTH_MB} MB more)."
    )


def write_large_documents(files: Path, manifest: str) -> tuple[str, int]:
    """Write DOCUMENTS large files beside the document of the manifest.

    Returns a manifest that lists them, and their size in bytes.
    """
    line = json.loads(manifest)
    source = (files / line["site_id"] / f"{line['doc_id']}.pdf").read_bytes()
    lines, size = [], 0
    for number in range(DOCUMENTS):
        doc_id = f"{line['doc_id']}-{number}"
        content = _add_picture(source, number)
        (files / line["site_id"] / f"{doc_id}.pdf").write_bytes(content)
        size += len(content)
        kept = {name: value for name, value in line.items() if name != "sha256"}
        url = f"{line['url'].rpartition('/')[0]}/{doc_id}.pdf"
        lines.append(json.dumps({**kept, "doc_id": doc_id, "url": url}) + "\n")
    return "".join(lines), size


def _add_picture(source: bytes, seed: int) -> bytes:
    """Return the document with a small picture on its first page, which has many pixels."""
    width, height = PICTURE_SIZE
    picture = BytesIO()
    pixels = random.Random(seed).randbytes(width * height * 3)
    Image.frombytes("RGB", PICTURE_SIZE, pixels).save(picture, "JPEG", quality=97, subsampling=0)
    target = BytesIO()
    with pikepdf.open(BytesIO(source)) as pdf:
        stream = pikepdf.Stream(
            pdf,
            picture.getvalue(),
            Type=pikepdf.Name.XObject,
            Subtype=pikepdf.Name.Image,
            Width=width,
            Height=height,
            ColorSpace=pikepdf.Name.DeviceRGB,
            BitsPerComponent=8,
            Filter=pikepdf.Name.DCTDecode,
        )
        page = pdf.pages[0]
        name = page.add_resource(stream, pikepdf.Name.XObject)
        page.contents_add(f"q 24 0 0 20 560 8 cm {name} Do Q".encode())
        pdf.save(target)
    return target.getvalue()
