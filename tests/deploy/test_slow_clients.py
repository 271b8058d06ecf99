"""Clients that send half a request and wait stop nobody else: with nginx in front, and without."""

import contextlib
import resource
import socket
import ssl
import subprocess

import httpx2
import pytest
from django.conf import settings as real

from tests.deploy.conftest import NAME, accepts, free_port
from tests.deploy.test_nobody_notices_an_upgrade import A_FILE, body, send
from tests.ingestion.hosts import environment, eventually

CLIENTS = 500
SECONDS = 20  # in which eight such clients once left /healthz unanswered


@pytest.fixture(autouse=True)
def _enough_open_files():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextlib.contextmanager
def slow_clients(connect, sent, count=CLIENTS):
    """So many connections over which `sent` has been sent, and nothing else comes."""
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
    """Of the server that `make run` starts."""
    port = free_port()
    process = subprocess.Popen(
        ["scripts/serve", f"127.0.0.1:{port}"], cwd=real.BASE_DIR, env=environment(real)
    )
    try:
        eventually(lambda: accepts(port) or process.poll())
        yield port
    finally:
        process.terminate()
        process.wait(30)


@pytest.mark.parametrize(
    "sent", [HALF_HEADERS, HALF_BODY, A_BYTE, b""], ids=["headers", "body", "byte", "nothing"]
)
def test_the_server_of_make_run_answers_beside_500_slow_clients(port, sent):
    def connect():
        return socket.create_connection(("127.0.0.1", port))

    with slow_clients(connect, sent):
        answer = httpx2.get(f"http://127.0.0.1:{port}/healthz", timeout=SECONDS, trust_env=False)
        assert answer.status_code == 200
        page = httpx2.get(f"http://127.0.0.1:{port}/login/", timeout=SECONDS, trust_env=False)
        assert page.status_code == 200


@pytest.fixture
def behind_nginx(deployment):
    """Both web servers, and how a slow client connects."""
    for port in deployment.ports:
        deployment.start_web(port)
    deployment.nginx()
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
def test_nginx_answers_beside_500_slow_clients_and_the_application_never_sees_them(behind_nginx):
    deployment, connect = behind_nginx
    browser = deployment.signed_in()
    cookie = f"Cookie: sessionid={browser.cookies['sessionid']}\r\n"
    # One address has 16 large uploads at a time; each is let in, and arrives half.
    with (
        slow_clients(connect, HALF_HEADERS.replace(b"localhost", NAME.encode())),
        slow_clients(connect, half_upload("/packets/new/", more=cookie), 12),
    ):
        for port in deployment.ports:
            own = httpx2.get(
                f"http://127.0.0.1:{port}/healthz",
                headers={"Host": NAME},
                timeout=SECONDS,
                trust_env=False,
            )
            assert own.status_code == 200
        assert browser.get("/packets/new/").status_code == 200
        assert send(browser, body(browser, A_FILE + b"% beside", "beside.pdf")).status_code == 201


@pytest.mark.slow
def test_a_strangers_large_body_is_not_read(behind_nginx):
    _deployment, connect = behind_nginx
    for path, said in [
        ("/packets/new/", b"/login/?next=/packets/new/"),
        ("/api/v1/packets", b"application/problem+json"),
    ]:
        with connect() as client:
            client.settimeout(SECONDS)
            client.sendall(half_upload(path))
            answer = client.recv(65_536)
        assert answer.split(b" ")[1] in {b"302", b"401"}
        assert said in answer


@pytest.mark.slow
def test_one_address_has_so_many_attempts_to_sign_in(behind_nginx):
    deployment, _connect = behind_nginx
    browser = deployment.browser()
    seen = [browser.post("/login/", data={"username": "x"}).status_code for _ in range(40)]
    assert 429 in seen
    assert browser.get("/login/").status_code == 200  # to see the page costs none
