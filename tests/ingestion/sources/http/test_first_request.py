"""Tests that the first request of a process follows its slot at once."""

import subprocess
import sys

import pytest

from tests.ingestion.sources.http.servers import give

# A process of its own, because this one has imported everything before.
PROGRAM = """
import asyncio, sys, tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
import django
django.setup()
from ingestion.sources.http.client import HttpPortals
from tests.ingestion.sources.http.conftest import LIMITS, make_item

async def fetch_once(url):
    item = make_item(url)
    with ThreadPoolExecutor(2) as files, tempfile.TemporaryDirectory() as folder:
        async with HttpPortals(lambda _: Path(folder), LIMITS, files) as portals:
            await portals.prepare(item.terms)
            before = set(sys.modules)
            await portals.fetch(item)
            print(*sorted(set(sys.modules) - before), sep="\\n")

asyncio.run(fetch_once(sys.argv[1]))
"""


@pytest.mark.slow
def test_the_first_request_of_a_prepared_connection_imports_no_backend(portal):
    portal.on("/cv.pdf", give(b"%PDF-1.7"))
    command = [sys.executable, "-c", PROGRAM, portal.url("/cv.pdf")]
    fetched = subprocess.run(command, capture_output=True, text=True, check=True)
    assert portal.seen
    assert not any(name.startswith("anyio") for name in fetched.stdout.split())
