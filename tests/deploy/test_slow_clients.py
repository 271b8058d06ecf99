"""Tests that clients which send half a request do not block others, with nginx and without."""

import contextlib
import resource
import socket
import ssl
import subprocess

import httpx2
import pytest
from django.conf import settings as real

from tests.deploy.conftest import NAME, accepts_connections, free_port
from tests.deploy.test_upgrade_without_interruption import A_FILE, form_body, send
from tests.ingestion.hosts import environment, eventually

CLIENTS = 500
TIMEOUT_SECONDS = 20  # eight such clients once made /healthz unavailable for this time


@pytest.fixture(autouse=True)
def _enough_open_files():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextlib.contextmanager
def slow_clients(connect, sent, count=CLIENTS):
    """Open `count` connections, send `sent` over each, and nothing else."""
    with contextlib.ExitStack() as opened:
        clients = []
        for _ in range(count):
            client = opened.enter_context(connect())
            client.sendall(sent)
            clients.append(client)
        yield clients


HALF_HEADERS = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
HALF_BODY = (
    b"POST /login/ HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded"
    b"\r\nContent-Length: 1000\r\n\r\nusername="
)
A_BYTE = b"G"


@pytest.fixture(scope="module")
def port(django_db_setup):
    """Return the port of the server that `make run` starts."""
    port = free_port()
    process = subprocess.Popen(
        ["scripts/serve", f"127.0.0.1:{port}"], cwd=real.BASE_DIR, env=environment(real)
    )
    try:
        eventually(lambda: accepts_connections(port) or process.poll())
        yield port
    finally:
        process.terminate()
        process.wait(30)


@pytest.mark.slow
@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "sent", [HALF_HEADERS, HALF_BODY, A_BYTE, b""], ids=["headers", "body", "byte", "nothing"]
)
def test_the_server_of_make_run_serves_others_beside_500_slow_clients(port, sent):
    def connect():
        return socket.create_connection(("127.0.0.1", port))

    with slow_clients(connect, sent):
        answer = httpx2.get(
            f"http://127.0.0.1:{port}/healthz", timeout=TIMEOUT_SECONDS, trust_env=False
        )
        assert answer.status_code == 200
        page = httpx2.get(
            f"http://127.0.0.1:{port}/login/", timeout=TIMEOUT_SECONDS, trust_env=False
        )
        assert page.status_code == 200


@pytest.fixture
def behind_nginx(deployment):
    """Start both web servers and nginx. Return the deployment and a function that connects."""
    for port in deployment.ports:
        deployment.start_web(port)
    deployment.start_nginx()
    context = ssl.create_default_context(cafile=str(deployment.folder / "fullchain.pem"))
    context.set_alpn_protocols(["http/1.1"])

    def connect():
        plain = socket.create_connection(("127.0.0.1", deployment.https))
        return context.wrap_socket(plain, server_hostname=NAME)

    return deployment, connect


def half_upload(path, length=100_000_000, more=""):
    return (
        f"POST {path} HTTP/1.1\r\nHost: {NAME}\r\nContent-Length: {length}\r\n"
        f"Content-Type: multipart/form-data; boundary=x\r\n{more}\r\n--x\r\n"
    ).encode()


@pytest.mark.slow
def test_nginx_serves_others_beside_500_slow_clients_and_does_not_pass_them_on(behind_nginx):
    deployment, connect = behind_nginx
    browser = deployment.sign_in()
    cookie = f"Cookie: sessionid={browser.cookies['sessionid']}\r\n"
    # One address may have 16 large uploads at a time. Half of each arrives.
    with (
        slow_clients(connect, HALF_HEADERS.replace(b"localhost", NAME.encode())),
        slow_clients(connect, half_upload("/packets/new/", more=cookie), 12),
    ):
        for port in deployment.ports:
            direct = httpx2.get(
                f"http://127.0.0.1:{port}/healthz",
                headers={"Host": NAME},
                timeout=TIMEOUT_SECONDS,
                trust_env=False,
            )
            assert direct.status_code == 200
        assert browser.get("/packets/new/").status_code == 200
        assert (
            send(browser, form_body(browser, A_FILE + b"% beside", "beside.pdf")).status_code == 201
        )


@pytest.mark.slow
def test_the_large_body_of_an_unknown_client_is_not_read(behind_nginx):
    _deployment, connect = behind_nginx
    for path, expected in [
        ("/packets/new/", b"/login/?next=/packets/new/"),
        ("/api/v1/packets", b"application/problem+json"),
    ]:
        with connect() as client:
            client.settimeout(TIMEOUT_SECONDS)
            client.sendall(half_upload(path))
            answer = client.recv(65_536)
        assert answer.split(b" ")[1] in {b"302", b"401"}
        assert expected in answer


@pytest.mark.slow
def test_sign_in_attempts_of_one_address_are_limited(behind_nginx):
    deployment, _connect = behind_nginx
    browser = deployment.open_browser()
    statuses = [browser.post("/login/", data={"username": "x"}).status_code for _ in range(40)]
    assert 429 in statuses
    assert browser.get("/login/").status_code == 200  # requests for the page are not limited
