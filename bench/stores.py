"""Measures the cost of storing one more document, in a folder and in a bucket, in turn.

`python -m bench.stores [--quick] [--documents N] [--threads N]`. The bucket is ARCHIVE_S3_BUCKET.
Its objects stay locked, so use a bucket made for this purpose, with ARCHIVE_S3_MODE=GOVERNANCE and
ARCHIVE_S3_YEARS=1. Without a bucket, moto's server is used, which measures our side and no real S3.
"""

import argparse
import hashlib
import os
import re
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from django.conf import settings

from bench.results.report import Row, compare, program, run_benchmark
from ingestion.storage.archive import Archive, FolderArchive
from ingestion.storage.buckets import BucketArchive

ROUNDS = 3
DOCUMENTS, QUICK_DOCUMENTS = 200, 50
_ADDRESS = re.compile(r"http://127\.0\.0\.1:[0-9]+")
SIZE = 200_000  # bytes, of a document of some pages


@contextmanager
def a_bucket() -> Iterator[dict[str, Any]]:
    """Yield the arguments for `BucketArchive`."""
    options: dict[str, Any] = {
        "location": "bench",
        "timeout_seconds": 30.0,
        "years": 1,
        "mode": "GOVERNANCE",
    }
    if bucket := os.environ.get("ARCHIVE_S3_BUCKET"):
        endpoint = os.environ.get("ARCHIVE_S3_ENDPOINT", "")
        yield options | {"bucket_name": bucket, "endpoint_url": endpoint}
        return
    os.environ |= {"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench"}
    os.environ |= {"AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"}
    with run_moto() as endpoint:
        options |= {"bucket_name": "bench", "endpoint_url": endpoint}
        client = BucketArchive(**options).client
        client.create_bucket(Bucket="bench", ObjectLockEnabledForBucket=True)
        yield options


@contextmanager
def run_moto() -> Iterator[str]:
    """Run moto's server in its own process, and yield its address, which it prints at start."""
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    lines: IO[str] = server.stderr  # type: ignore[assignment] # it is a pipe
    try:
        address = next(match[0] for line in lines if (match := _ADDRESS.search(line)))
        # It logs each request, and would block when the pipe is full.
        threading.Thread(target=deque, args=(lines, 0), daemon=True).start()
        yield address
    finally:
        server.kill()
        server.wait()


def put_all(store: Archive, folder: Path, documents: int, threads: int) -> float:
    """Return the documents per second, all of them new."""
    files = []
    for number in range(documents):
        content = secrets.token_bytes(SIZE)
        path = folder / str(number)
        path.write_bytes(content)
        files.append((path, hashlib.sha256(content).hexdigest()))
    began = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda file: store.put(*file), files))
    return documents / (time.perf_counter() - began)


def rows(options: argparse.Namespace) -> Iterator[Row]:
    """Yield the rows of the benchmark."""
    settings.configure()
    documents = options.documents or (QUICK_DOCUMENTS if options.quick else DOCUMENTS)
    with tempfile.TemporaryDirectory() as name, a_bucket() as bucket:
        root = Path(name)
        stores: dict[str, Callable[[], Archive]] = {
            "folder": lambda: FolderArchive(root / "archive"),
            "bucket": lambda: BucketArchive(**bucket),
        }
        rates: dict[str, list[float]] = {side: [] for side in stores}
        for _ in range(1 if options.quick else ROUNDS):
            for side, make in stores.items():
                rates[side].append(put_all(make(), root, documents, options.threads))
    server = bucket["bucket_name"] if "ARCHIVE_S3_BUCKET" in os.environ else "moto's server"
    what = f"documents of {SIZE // 1000} kB: {server}"
    yield compare(what, "documents/s", rates["bucket"], "a folder", rates["folder"])


if __name__ == "__main__":
    parser = program(__doc__)
    parser.add_argument("--documents", type=int)
    parser.add_argument("--threads", type=int, default=2, help="a shift has two")
    run_benchmark(rows, parser)
