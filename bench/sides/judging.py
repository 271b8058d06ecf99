"""Reads and judges files as one side of bench/judging.py, and prints the time of each.

`python -P bench/sides/judging.py FILE ...` runs with the rules of the checkout in PYTHONPATH. For
each line of its input, it prints one line: a JSON list with a pair for each file, of seconds and
pages, or null if the file needs OCR or cannot be read. It imports only what earlier versions have
too. OpenCV and the garbage collector are set as `process_limits.initialise_child` sets them in the
parser processes of each version.
"""

import gc
import json
import logging
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

import cv2

from ingestion.reading import process_limits, tasks
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.results import DocumentReading, Unreadable
from ingestion.rules.checks.check_input import SenderFacts, SiteFacts
from ingestion.rules.checks.verdict import check_or_reject

SITE, DAY = SiteFacts(""), date(2026, 11, 20)
SCHEMA_VERSION = "v2.1"  # the latest one of each version of the rules


def judge(reading: DocumentReading | Unreadable) -> int:
    """Judge a file without a declared type, and return the number of its pages."""
    check_or_reject(reading, SenderFacts(SCHEMA_VERSION), site=SITE, today=DAY)
    return len(reading.pages) if isinstance(reading, DocumentReading) else 0


def measure(path: Path, scratch: Path) -> tuple[float, int] | None:
    """Return the processor seconds and the pages of a file; None if it is not born digital."""
    before = time.process_time()
    outcome = tasks.probe_and_conclude(judge, path, scratch, ReadingLimits())
    seconds = time.process_time() - before
    scratch.unlink(missing_ok=True)
    pages = outcome.result if isinstance(outcome, tasks.Conclusion) else 0
    return (seconds, pages) if pages else None


def main() -> None:
    """Judge the files once for each line of the input."""
    logging.disable()  # pypdf logs warnings about fonts
    cv2.setNumThreads(1)
    # Earlier versions only freeze what the process started with.
    getattr(process_limits, "configure_garbage_collection", gc.freeze)()
    files = [Path(each) for each in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as folder:
        for _ in sys.stdin:
            results = [measure(path, Path(folder, "rewritten.pdf")) for path in files]
            sys.stdout.write(json.dumps(results) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
