"""The downloader against a real HTTP server that answers as portals do."""

import hashlib
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.core.errors import (
    BodyTruncated,
    ChecksumMismatch,
    NotServed,
    PortalFailing,
    PortalThrottled,
    PortalUnreachable,
    StorageUnavailable,
    TooLarge,
)
from ingestion.core.limits import Limits
from ingestion.core.work import PortalTerms, WorkItem
from ingestion.portal import FolderOf, HttpPortals, Sources, retry_after

BODY = b"%PDF-1.7 " + b"x" * 700_000
LIMITS = Limits(max_bytes=1_000_000, connect_seconds=1, read_seconds=5, fetch_seconds=5)


class Answers(BaseHTTPRequestHandler):
    """One path for each way in which a portal answers."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        getattr(self, f"answer_{self.path.strip('/').split('.')[0]}", self.answer_missing)()

    def send(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in ({"Content_Length": str(len(body))} | headers).items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def answer_good(self):
        self.send(200, BODY)

    def answer_missing(self):
        self.send(404)

    def answer_busy(self):
        self.send(429, Retry_After="7")

    def answer_down(self):
        self.send(503)

    def answer_login(self):
        self.send(302, Location="/good.pdf")

    def answer_announced(self):
        self.send(200, b"", Content_Length="999999999")

    def answer_endless(self):
        self.send_response(200)
        self.end_headers()
        for _ in range(40):
            self.wfile.write(b"y" * 65_536)
        self.close_connection = True

    def answer_short(self):
        self.send(200, BODY[:100], Content_Length=str(len(BODY)))
        self.close_connection = True

    def answer_zipped(self):
        self.send(200, b"\x1f\x8b", Content_Encoding="gzip")

    def answer_silent(self):
        self.server.release.wait(10)

    def log_message(self, *args):
        pass


@contextmanager
def served():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    server.daemon_threads = True
    server.release = threading.Event()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.release.set()
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="module")
def portal():
    with served() as base_url:
        yield base_url


def make_item(url, *, allow_private_hosts=True, timeout_seconds=5.0, expected_sha256=""):
    terms = PortalTerms(
        key="p",
        base_url=url,
        rate_per_second=10,
        burst=1,
        max_in_flight=2,
        timeout_seconds=timeout_seconds,
        allow_http=True,
        allow_private_hosts=allow_private_hosts,
    )
    return WorkItem(
        document=1,
        chunk=1,
        site_id="1001",
        doc_id="cv",
        url=url,
        terms=terms,
        expected_sha256=expected_sha256,
    )


@pytest.fixture
def fetch(tmp_path):
    async def fetch(url, *, folder=tmp_path, **changes):
        folders = FolderOf()
        folders.set(1, folder)
        with ThreadPoolExecutor(1) as files:
            async with HttpPortals(folders, LIMITS, files) as portals:
                return await portals.fetch(make_item(url, **changes))

    return fetch


async def test_the_bytes_come_to_the_disk_hashed_and_counted(portal, fetch):
    fetched = await fetch(f"{portal}/good.pdf")
    assert fetched.path.read_bytes() == BODY
    assert (fetched.sha256, fetched.size) == (hashlib.sha256(BODY).hexdigest(), len(BODY))


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("missing", NotServed),
        ("busy", PortalThrottled),
        ("down", PortalFailing),
        ("login", NotServed),
        ("announced", TooLarge),
        ("endless", TooLarge),
        ("short", BodyTruncated),
        ("zipped", NotServed),
    ],
)
async def test_each_answer_is_told_apart_and_leaves_no_bytes(portal, fetch, tmp_path, path, error):
    with pytest.raises(error):
        await fetch(f"{portal}/{path}.pdf")
    assert not list(tmp_path.iterdir())


async def test_a_portal_that_says_when_is_asked_no_sooner(portal, fetch):
    with pytest.raises(PortalThrottled) as caught:
        await fetch(f"{portal}/busy.pdf")
    assert caught.value.retry_after == 7


async def test_a_portal_that_falls_silent_is_left_at_the_total_timeout(portal, fetch):
    with pytest.raises(PortalUnreachable, match="no answer within"):
        await fetch(f"{portal}/silent.pdf", timeout_seconds=0.2)


async def test_a_portal_that_is_not_there_is_unreachable(fetch):
    with pytest.raises(PortalUnreachable):
        await fetch("http://127.0.0.1:9/x.pdf")


async def test_other_bytes_than_announced_are_refused(portal, fetch):
    with pytest.raises(ChecksumMismatch):
        await fetch(f"{portal}/good.pdf", expected_sha256="0" * 64)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "2130706433", "0x7f.1"])
async def test_a_portal_may_not_point_into_our_own_network(fetch, host):
    with pytest.raises((NotServed, PortalUnreachable)):
        await fetch(f"http://{host}:9/x.pdf", allow_private_hosts=False)


async def test_a_spool_that_refuses_is_our_fault_and_not_the_portals(portal, fetch, tmp_path):
    with pytest.raises(StorageUnavailable):
        await fetch(f"{portal}/good.pdf", folder=tmp_path / "nowhere")


async def test_an_upload_comes_from_the_spool_without_asking_anybody(tmp_path):
    (tmp_path / "uploads").mkdir()
    (tmp_path / "uploads" / "x").write_bytes(b"%PDF")
    item = WorkItem(
        document=1,
        chunk=1,
        site_id="1",
        doc_id="cv",
        url="",
        terms=None,
        spooled="uploads/x",
        expected_sha256="a" * 64,
        size=4,
    )
    with ThreadPoolExecutor(1) as files:
        sources = Sources(HttpPortals(FolderOf(), LIMITS, files), tmp_path)
        fetched = await sources.fetch(item)
        assert (fetched.path, fetched.size) == (tmp_path / "uploads" / "x", 4)
        (tmp_path / "uploads" / "x").unlink()
        with pytest.raises(StorageUnavailable, match="lost"):
            await sources.fetch(item)


NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "30"}, 30),
        ({"Retry-After": "Fri, 20 Nov 2026 12:00:45 GMT"}, 45),
        ({"Retry-After": "Fri, 20 Nov 2026 11:00:00 GMT"}, 0),
        ({"Retry-After": "soon"}, None),
    ],
)
def test_both_forms_of_retry_after_are_understood(headers, seconds):
    assert retry_after(headers, now=NOW) == seconds


@given(st.integers(-86_400, 86_400))
def test_a_portals_wrong_clock_does_not_change_how_long_we_wait(skew):
    def http(moment):
        return moment.strftime("%a, %d %b %Y %H:%M:%S GMT")

    theirs = NOW + timedelta(seconds=skew)
    headers = {"Date": http(theirs), "Retry-After": http(theirs + timedelta(seconds=90))}
    assert retry_after(headers, now=NOW) == 90
