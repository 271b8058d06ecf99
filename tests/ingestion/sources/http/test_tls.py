"""Tests of certificates and secrets, with a real TLS server and a certificate authority."""

import hashlib
import ssl

import pytest

from ingestion.core.errors import Misconfigured, PortalUnreachable, TransientError
from ingestion.sources.credentials import Credentials, name_credential
from tests.ingestion.sources.http.conftest import make_item
from tests.ingestion.sources.http.servers import (
    give,
    redirect,
    serve,
    server_tls,
)

PDF = b"%PDF-1.7 " + b"x" * 2000
STRICT = {"allow_http": False}


@pytest.fixture
def trusted(settings, authority):
    settings.PORTAL_SECRETS = {"PORTAL_CA_SITE_1001": str(authority.path)}


@pytest.fixture
def secure(authority):
    with serve(server_tls(authority.certificate("portal.example"))) as server:
        server.on("/cv.pdf", give(PDF))
        yield server


async def test_a_certificate_of_the_portals_own_authority_is_accepted(secure, fetch, trusted):
    fetched = await fetch(secure.url("/cv.pdf", "portal.example"), **STRICT)
    assert fetched.size == len(PDF)


async def test_the_host_name_is_sent_although_the_connection_goes_to_an_address(
    secure, fetch, trusted
):
    names = []
    secure.tls.sni_callback = lambda _socket, name, _context: names.append(name)
    await fetch(secure.url("/cv.pdf", "portal.example"), **STRICT)
    assert names == ["portal.example"]
    assert secure.headers("/cv.pdf")[0]["Host"] == f"portal.example:{secure.server_port}"


async def test_the_portals_certificate_is_among_the_facts(secure, fetch, trusted):
    fetched = await fetch(secure.url("/cv.pdf", "portal.example"), **STRICT)
    presented = ssl.get_server_certificate(("127.0.0.1", secure.server_port))
    sha256 = hashlib.sha256(ssl.PEM_cert_to_DER_cert(presented)).hexdigest()
    assert fetched.facts == {"certificate_sha256": sha256}


async def test_a_certificate_for_another_name_is_refused(secure, fetch, trusted):
    with pytest.raises(PortalUnreachable, match="CERTIFICATE_VERIFY_FAILED"):
        await fetch(secure.url("/cv.pdf", "other.example"), **STRICT)
    assert not secure.seen


async def test_an_unknown_authority_is_refused(secure, fetch):
    with pytest.raises(PortalUnreachable, match="CERTIFICATE_VERIFY_FAILED"):
        await fetch(secure.url("/cv.pdf", "portal.example"), **STRICT)


async def test_an_expired_certificate_is_refused(authority, fetch, trusted):
    old = server_tls(authority.certificate("portal.example", days=-1))
    with serve(old) as server, pytest.raises(PortalUnreachable, match="expired"):
        await fetch(server.url("/cv.pdf", "portal.example"), **STRICT)


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1:DeprecationWarning")
async def test_tls_before_1_2_is_refused(authority, fetch, trusted):
    old = server_tls(authority.certificate("portal.example"), newest=ssl.TLSVersion.TLSv1_1)
    with serve(old) as server, pytest.raises(PortalUnreachable, match="ConnectError"):
        await fetch(server.url("/cv.pdf", "portal.example"), **STRICT)


async def test_the_client_certificate_is_presented_on_request(authority, fetch, settings, trusted):
    ours = authority.certificate("siteledger.example")
    demanding = server_tls(authority.certificate("portal.example"), clients=authority.path)
    with serve(demanding) as server:
        server.on("/cv.pdf", give(PDF))
        url = server.url("/cv.pdf", "portal.example")
        with pytest.raises(TransientError):
            await fetch(url, **STRICT)
        settings.PORTAL_SECRETS |= {"PORTAL_CERT_SITE_1001": str(ours)}
        assert (await fetch(url, **STRICT)).size == len(PDF)


async def test_the_client_certificate_is_not_presented_to_other_hosts(
    authority, secure, fetch, settings, trusted
):
    ours = authority.certificate("siteledger.example")
    settings.PORTAL_SECRETS |= {"PORTAL_CERT_SITE_1001": str(ours)}
    inquiring = server_tls(authority.certificate("store.example"), clients=authority.path)
    inquiring.verify_mode = ssl.CERT_OPTIONAL
    presented = []

    def answer(handler):
        presented.append(handler.connection.getpeercert())
        give(PDF)(handler)

    with serve(inquiring) as store:
        secure.on("/cv.pdf", redirect(store.url("/cv.pdf", "store.example")))
        store.on("/cv.pdf", answer)
        allowed = (f"store.example:{store.server_port}",)
        await fetch(secure.url("/cv.pdf", "portal.example"), allowed_hosts=allowed, **STRICT)
    assert presented == [None]


def test_a_secret_is_read_from_the_environment_or_a_file_and_is_not_in_the_repr(settings, tmp_path):
    settings.PORTAL_SECRETS_DIR = str(tmp_path)
    terms = make_item("https://portal.example/").terms
    assert Credentials.of(terms).request_headers == {}
    (tmp_path / "PORTAL_SECRET_SITE_1001").write_text("Bearer from a file\n")
    assert Credentials.of(terms).request_headers == {"Authorization": "Bearer from a file"}
    settings.PORTAL_SECRETS = {"PORTAL_SECRET_SITE_1001": "Bearer from the environment"}
    found = Credentials.of(terms)
    assert found.request_headers == {"Authorization": "Bearer from the environment"}
    assert "Bearer" not in repr(found)


def test_certificates_can_be_files_in_the_secrets_folder(settings, tmp_path, authority):
    settings.PORTAL_SECRETS_DIR = str(tmp_path)
    (tmp_path / "PORTAL_CA_SITE_1001").write_bytes(authority.path.read_bytes())
    terms = make_item("https://portal.example/").terms
    assert Credentials.of(terms).ca == tmp_path / "PORTAL_CA_SITE_1001"


@pytest.mark.parametrize(
    ("key", "name"), [("site-1001", "PORTAL_SECRET_SITE_1001"), ("CRO_2", "PORTAL_SECRET_CRO_2")]
)
def test_a_reference_contains_the_key_in_capitals(key, name):
    assert name_credential("SECRET", key) == name


@pytest.mark.parametrize("kind", ["CA", "CERT"])
async def test_an_unusable_certificate_is_misconfigured(kind, fetch, settings, tmp_path):
    (tmp_path / "broken.pem").write_text("-----BEGIN NONSENSE-----")
    settings.PORTAL_SECRETS = {f"PORTAL_{kind}_SITE_1001": str(tmp_path / "broken.pem")}
    with pytest.raises(Misconfigured, match="cannot be used for TLS"):
        await fetch("https://portal.example/cv.pdf")


async def test_an_unreadable_secret_is_misconfigured(fetch, settings, tmp_path):
    settings.PORTAL_SECRETS_DIR = str(tmp_path)
    (tmp_path / "PORTAL_SECRET_SITE_1001").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(Misconfigured, match="cannot be read"):
        await fetch("https://portal.example/cv.pdf")


async def test_a_portal_without_tls_has_no_certificate_among_the_facts(portal, fetch):
    portal.on("/cv.pdf", give(PDF))
    assert (await fetch(portal.url("/cv.pdf"))).facts == {}


async def test_a_changed_portal_row_opens_a_new_connection(portal, portals):
    portal.on("/cv.pdf", give(PDF))
    async with portals() as opened:
        for burst in (1, 2, 2):
            await opened.fetch(make_item(portal.url("/cv.pdf"), burst=burst))
        assert len(opened._connections) == 2
