"""Tests that the web servers behind nginx can be restarted while they are in use."""

import re
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from tests.deploy.conftest import NAME, WEB
from tests.deploy.units import lines_of
from tests.ingestion.hosts import eventually

pytestmark = pytest.mark.slow
A_FILE = b"%PDF-1.7\n" + bytes(100_000)
FILES = "/packets/new/files/"
BOUNDARY = "between-the-parts"


def form_body(browser, content, name="cv.pdf"):
    """Return a form with one file as bytes, which can be sent in pieces."""
    token = browser.cookies["csrftoken"]
    part = f"--{BOUNDARY}\r\nContent-Disposition: form-data; name="
    return (
        (
            f'{part}"csrfmiddlewaretoken"\r\n\r\n{token}\r\n'
            f'{part}"file"; filename="{name}"\r\nContent-Type: application/pdf\r\n\r\n'
        ).encode()
        + content
        + f"\r\n--{BOUNDARY}--\r\n".encode()
    )


def send(browser, whole, pieces=None):
    """Upload a form at once, or in the pieces of an iterator."""
    headers = {
        "Content-Type": f"multipart/form-data; boundary={BOUNDARY}",
        "Content-Length": str(len(whole)),
        "Referer": f"https://{NAME}/packets/new/",
    }
    return browser.post(FILES, content=pieces or whole, headers=headers)


def test_a_person_signs_in_through_the_proxy_and_uploads_a_file(deployment):
    deployment.start_web(deployment.ports[0])
    deployment.start_nginx()
    plain = httpx2.get(
        f"http://127.0.0.1:{deployment.http}/login/", headers={"Host": NAME}, trust_env=False
    )
    assert (plain.status_code, plain.headers["location"]) == (301, f"https://{NAME}/login/")
    browser = deployment.sign_in()
    assert send(browser, form_body(browser, A_FILE + b"% own", "own.pdf")).status_code == 201
    page = browser.get("/packets/new/")
    assert page.status_code == 200
    assert "own.pdf" in page.text
    style = re.search(r'href="(/static/[^"]+\.css)"', page.text)[1]
    assert browser.get(style).status_code == 200
    assert browser.get("/metrics").status_code in {
        401,
        403,
    }  # nginx is on the same machine, but does not count as local


def test_the_access_log_has_no_address_no_query_and_no_link(deployment):
    deployment.start_web(deployment.ports[0])
    deployment.start_nginx()
    browser = deployment.open_browser()
    answer = browser.get("/login/?next=/search/%3Fq%3Dsmith")
    browser.get("/password/link/Nw/abc123-secret/")
    eventually(lambda: len(deployment.access_log.read_text().splitlines()) == 2)
    first, second = deployment.access_log.read_text().splitlines()
    assert " GET /login/ 200 " in first
    assert first.endswith(answer.headers["X-Correlation-ID"])
    assert " GET /password/link/... " in second
    assert not any(text in first + second for text in ("127.0.0.1", "smith", "secret", "python"))


def test_a_page_without_uploads_refuses_a_large_form(deployment):
    deployment.start_web(deployment.ports[0])
    deployment.start_nginx()
    assert deployment.open_browser().post("/login/", content=bytes(4_000_000)).status_code == 413


def test_a_static_file_that_only_the_newer_server_has_is_served(deployment):
    deployment.start_web(deployment.ports[0])
    (deployment.folder / "lib" / "static" / "newer.css").write_text("body { color: black }")
    deployment.start_web(deployment.ports[1])
    deployment.start_nginx()
    browser = deployment.open_browser()
    assert {browser.get("/static/newer.css").status_code for _ in range(6)} == {200}
    assert browser.get("/static/nothing.css").status_code == 404


def test_an_upload_that_began_before_a_restart_reaches_the_new_server(deployment):
    old = deployment.start_web(deployment.ports[0])
    deployment.start_nginx()
    browser = deployment.sign_in()
    whole = form_body(browser, A_FILE + bytes(2_000_000), "slow.pdf")
    half_is_sent, may_continue = threading.Event(), threading.Event()

    def pieces():
        sent = 1_000_000
        yield whole[:sent]
        half_is_sent.set()
        while not may_continue.wait(1):  # nginx ends an upload that is silent for too long
            yield whole[sent : sent + 1]
            sent += 1
        yield whole[sent:]

    with ThreadPoolExecutor() as threads:
        answer = threads.submit(send, browser, whole, pieces())
        assert half_is_sent.wait(30)
        old.send_signal(signal.SIGTERM)
        deployment.start_web(deployment.ports[1])
        eventually(lambda: not deployment.is_ready(deployment.ports[0]))
        assert deployment.open_browser().get("/login/").status_code == 200
        may_continue.set()
        assert answer.result().status_code == 201
    assert old.wait(60) == 0


def test_every_request_is_answered_while_both_servers_are_restarted_in_turn(deployment):
    servers = [deployment.start_web(port) for port in deployment.ports]
    deployment.start_nginx()
    stop = threading.Event()

    def use():
        browser, statuses = deployment.sign_in(), []
        whole = form_body(browser, A_FILE)
        while not stop.is_set():
            statuses += [browser.get("/login/").status_code, send(browser, whole).status_code]
        return statuses

    with ThreadPoolExecutor() as threads:
        users = [threads.submit(use) for _ in range(3)]
        try:
            for server, port in zip(servers, deployment.ports, strict=True):
                server.send_signal(signal.SIGTERM)
                assert server.wait(75) == 0
                deployment.start_web(port)
        finally:
            stop.set()
    answers = [status for user in users for status in user.result()]
    assert len(answers) > 20
    assert set(answers) <= {200, 201, 302}


def test_the_worker_host_stops_within_the_time_limit_of_its_unit(deployment):
    unit = "siteledger-worker.service"
    host = deployment.start(unit)
    # Django first reports the migrations of the last stage, which are not applied yet.
    assert any("Working" in line for line in host.stdout)
    host.send_signal(signal.SIGTERM)
    assert host.wait(int(lines_of(unit, "TimeoutStopSec")[0])) == 0
    host.stdout.close()


def test_the_checks_find_no_error_in_the_settings_of_the_units(deployment):
    deployment.run("manage.py", "check", "--deploy")  # exit code 0
    assert lines_of(WEB, "EnvironmentFile") == ["/etc/siteledger/siteledger.env"]
