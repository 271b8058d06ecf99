"""The sample portal, with requests over real HTTP."""

import http.client
import json
import signal
import subprocess
import sys
import threading
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from samples.portal import (
    FaultInjection,
    PortalFault,
    SamplePortal,
    SiteLimit,
)
from samples.portal.limits import TokenBucket

CONTENT = bytes(range(256)) * 40
PATH = "/1001/cv.pdf"
LIMITS = st.builds(SiteLimit, st.floats(0.5, 50), st.integers(1, 20))


@pytest.fixture
def folder(tmp_path):
    for site_id in ("1001", "1002"):
        (tmp_path / "files" / site_id).mkdir(parents=True)
        (tmp_path / "files" / site_id / "cv.pdf").write_bytes(CONTENT)
    return tmp_path


def connect(portal):
    return closing(http.client.HTTPConnection(portal.base_url.removeprefix("http://"), timeout=20))


def get(connection, path=PATH, **headers):
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    return response.status, response.read(), response.headers


def seed_of(fault):
    """Return a seed with which this path has this fault once."""
    return next(seed for seed in range(999) if FaultInjection(1, seed).forecast(PATH) == (fault, 1))


def test_documents_are_served_over_a_persistent_connection(folder):
    with SamplePortal(folder, {}, faults=0) as portal, connect(portal) as connection:
        responses = [get(connection) for _ in range(3)]

    assert [(status, body) for status, body, _ in responses] == [(200, CONTENT)] * 3
    assert responses[0][2]["Content-Type"] == "application/pdf"


def test_an_unchanged_document_has_status_304_and_counts_towards_the_limit(folder):
    limits = {"1001": SiteLimit(0.5, 2)}
    with SamplePortal(folder, limits, faults=0) as portal, connect(portal) as connection:
        _, _, headers = get(connection)
        unchanged = get(connection, **{"If-None-Match": headers["ETag"]})
        refused, *_ = get(connection, **{"If-None-Match": headers["ETag"]})

    assert unchanged[:2] == (304, b"")
    assert unchanged[2]["ETag"] == headers["ETag"]
    assert refused == 429


def test_a_site_beyond_its_burst_is_refused_while_another_is_served(folder):
    limits = {"1001": SiteLimit(0.5, 2), "1002": SiteLimit(0.5, 2)}
    with (
        SamplePortal(folder, limits, faults=0, clock=lambda: 100.0) as portal,
        connect(portal) as connection,
    ):
        statuses = [get(connection)[0] for _ in range(2)]
        refused, _, headers = get(connection)
        other, _, _ = get(connection, "/1002/cv.pdf")

    assert (statuses, refused, other) == ([200, 200], 429, 200)
    assert headers["Retry-After"] == "2"
    assert portal.violations == {"1001": 1}


@given(LIMITS, st.lists(st.floats(0, 5), max_size=60))
def test_no_period_has_more_requests_than_the_burst_and_the_rate_allow(limit, pauses):
    bucket, now, taken = TokenBucket(limit), 0.0, []
    for pause in pauses:
        now += pause
        if not bucket.take(now):
            taken.append(now)

    for first, start in enumerate(taken):
        for last in range(first, len(taken)):
            allowed = limit.burst + limit.rate_per_second * (taken[last] - start)
            assert last - first + 1 <= allowed + 1e-6


@given(LIMITS, st.integers(1, 30))
def test_a_token_is_available_after_the_returned_wait(limit, count):
    bucket = TokenBucket(limit)
    waits = [bucket.take(0.0) for _ in range(count + limit.burst)]

    assert bucket.take(max(waits) + 1e-9) == 0.0


@pytest.mark.parametrize(
    "path", ["/1001/other.pdf", "/9999/cv.pdf", "/1001/../1002/cv.pdf", "/sites.json", "/%2e%2e/x"]
)
def test_a_path_that_is_not_a_document_is_not_found(folder, path):
    with SamplePortal(folder, {}, faults=1) as portal, connect(portal) as connection:
        assert get(connection, path)[0] == 404


def test_an_unavailable_document_is_served_at_the_next_request(folder):
    seed = seed_of(PortalFault.UNAVAILABLE)
    with SamplePortal(folder, {}, faults=1, seed=seed) as portal, connect(portal) as connection:
        responses = [get(connection)[:2] for _ in range(2)]

    assert responses == [(503, b"503 Service Unavailable\n"), (200, CONTENT)]


def test_a_truncated_body_ends_before_its_announced_length(folder):
    seed = seed_of(PortalFault.TRUNCATED)
    with SamplePortal(folder, {}, faults=1, seed=seed) as portal, connect(portal) as connection:
        with pytest.raises(http.client.IncompleteRead) as error:
            get(connection)
        connection.close()
        assert get(connection)[1] == CONTENT

    assert error.value.partial == CONTENT[: len(CONTENT) // 2]


def test_a_reset_closes_the_connection_during_the_body(folder):
    seed = seed_of(PortalFault.RESET)
    with SamplePortal(folder, {}, faults=1, seed=seed) as portal, connect(portal) as connection:
        with pytest.raises(ConnectionResetError):
            get(connection)
        connection.close()
        assert get(connection)[1] == CONTENT


def test_a_slow_document_arrives_completely(folder):
    seed = seed_of(PortalFault.SLOW)
    with SamplePortal(folder, {}, faults=1, seed=seed) as portal, connect(portal) as connection:
        assert get(connection)[:2] == (200, CONTENT)

    assert [entry.fault for entry in portal.requests] == [PortalFault.SLOW]


def test_each_request_is_logged_with_its_status(folder):
    with SamplePortal(folder, {}, faults=0) as portal, connect(portal) as connection:
        get(connection)
        get(connection, "/1001/none.pdf")

    assert [(entry.site_id, entry.path, entry.status) for entry in portal.requests] == [
        ("1001", PATH, 200),
        ("1001", "/1001/none.pdf", 404),
    ]


def test_a_stopped_portal_leaves_no_thread_even_if_a_client_keeps_its_connection(folder):
    before = set(threading.enumerate())
    portal = SamplePortal(folder, {}, faults=0)
    with connect(portal) as connection:
        with portal:
            get(connection)
        assert set(threading.enumerate()) == before


@given(st.text("abcdef0123456789", min_size=1, max_size=8), st.integers())
def test_a_path_has_the_same_fault_each_time_and_none_after_two_requests(name, seed):
    injection = FaultInjection(1, seed)
    faults = [injection.on(name) for _ in range(4)]
    expected, affected = FaultInjection(1, seed).forecast(name)

    assert faults == [expected] * affected + [None] * (4 - affected)
    assert affected in {1, 2}


def test_the_share_of_paths_with_faults_is_about_the_requested_one():
    injection = FaultInjection(0.08, 2026)
    failing = [path for path in range(5000) if injection.forecast(f"/1001/{path}.pdf")[0]]

    assert 0.06 < len(failing) / 5000 < 0.10


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_the_share_of_faults_is_between_0_and_1(share):
    with pytest.raises(ValueError, match="between 0 and 1"):
        FaultInjection(share, 1)


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_the_program_prints_its_address_first_and_stops_on_a_signal(folder, stop):
    portal = {"rate_per_second": 5, "burst": 5}
    (folder / "sites.json").write_text(json.dumps([{"site_id": "1001", "portal": portal}]))
    command = [sys.executable, "-m", "samples.portal", str(folder), "--faults", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        address = program.stdout.readline().strip().removeprefix("http://")
        with closing(http.client.HTTPConnection(address, timeout=20)) as connection:
            assert get(connection)[:2] == (200, CONTENT)
            program.send_signal(stop)
            assert program.wait(timeout=20) == 0
