"""Resumable uploads over tus 1.0, with the client tuspy and as single requests."""

import base64
import hashlib
import io
import uuid
from datetime import timedelta

import pytest
import requests
from tusclient.client import TusClient
from tusclient.uploader import Uploader

from ingestion.models import Document, OpenPacket, ReceivedPart, Upload
from ingestion.storage import spool
from tests.api.servers import web_server
from tests.api.test_open_packets import declared, path_of

LARGE = b"%PDF-1.7 " + bytes(range(256)) * 4_000
PART = 100_000  # bytes
VERSION = {"tus-resumable": "1.0.0"}
BYTES = "application/offset+octet-stream"


@pytest.fixture
def packet(program):
    """The description of an open packet with one large file."""
    response = program.submit({"files": [declared(LARGE)]})
    assert response.status_code == 201, response.content
    return response.json()


def encoded(**metadata):
    return ",".join(f"{k} {base64.b64encode(v.encode()).decode()}" for k, v in metadata.items())


def tus_request(program, method, path="/api/v1/uploads", data=b"", **headers):
    headers = VERSION | {name.replace("_", "-"): value for name, value in headers.items()}
    return program.request(method, path, data=data, content_type=BYTES, headers=headers)


@pytest.fixture
def upload(program, packet):
    """The path of a new upload without any bytes."""
    metadata = encoded(packet=packet["id"], number="0")
    answer = tus_request(program, "POST", upload_length=str(len(LARGE)), upload_metadata=metadata)
    assert answer.status_code == 201, answer.content
    return path_of(answer["Location"])


def stored_bytes():
    return spool.get_path(Upload.objects.get().spooled).read_bytes()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_tuspy_uploads_in_parts_and_continues_at_another_server(program, packet, settings, site):
    """The second server shares only the database and the spool with the first."""
    headers = {"Authorization": f"Bearer {program.secret}"}
    options = {"chunk_size": PART, "upload_checksum": True}
    metadata = {"packet": packet["id"], "number": "0"}
    with web_server(settings) as first:
        client = TusClient(f"{first}/api/v1/uploads", headers=headers)
        upload = client.uploader(file_stream=io.BytesIO(LARGE), metadata=metadata, **options)
        upload.upload(stop_at=3 * PART)
    assert Upload.objects.get().offset == 3 * PART
    with web_server(settings) as second:
        client = TusClient(f"{second}/api/v1/uploads", headers=headers)
        address = upload.url.replace(first, second)
        continued = Uploader(file_stream=io.BytesIO(LARGE), url=address, client=client, **options)
        assert continued.offset == 3 * PART
        continued.upload()
        assert stored_bytes() == LARGE
        assert not ReceivedPart.objects.exists()
        submitted = requests.post(
            packet["submit_url"].replace("http://testserver", second), headers=headers, timeout=60
        )
    assert submitted.status_code in {200, 202}, submitted.text
    assert Document.objects.get().packet.site == site


def test_options_describes_the_server_without_a_version_header(program):
    answer = program.request("OPTIONS", "/api/v1/uploads")
    assert answer.status_code == 204
    assert answer["Tus-Version"] == answer["Tus-Resumable"] == "1.0.0"
    extensions = set(answer["Tus-Extension"].split(","))
    assert extensions >= {"creation", "checksum", "expiration", "termination"}
    assert "sha1" in answer["Tus-Checksum-Algorithm"]


def test_another_protocol_version_is_refused(program, upload):
    answer = tus_request(program, "HEAD", upload, tus_resumable="0.2.2")
    assert (answer.status_code, answer["Tus-Version"]) == (412, "1.0.0")


def test_a_part_with_a_wrong_checksum_is_not_stored(program, upload):
    wrong = "sha1 " + base64.b64encode(hashlib.sha1(b"other").digest()).decode()  # noqa: S324
    answer = tus_request(
        program, "PATCH", upload, LARGE[:9], upload_offset="0", upload_checksum=wrong
    )
    assert answer.status_code == 460
    assert tus_request(program, "HEAD", upload)["Upload-Offset"] == "0"


def test_a_part_at_a_wrong_offset_is_refused(program, upload):
    tus_request(program, "PATCH", upload, LARGE[:9], upload_offset="0")
    assert tus_request(program, "PATCH", upload, LARGE[:9], upload_offset="0").status_code == 409
    assert tus_request(program, "HEAD", upload)["Upload-Offset"] == "9"


def test_a_file_that_differs_from_its_declaration_starts_again_at_zero(program, upload):
    other = b"x" * len(LARGE)
    assert tus_request(program, "PATCH", upload, other, upload_offset="0").status_code == 422
    assert tus_request(program, "HEAD", upload)["Upload-Offset"] == "0"
    answer = tus_request(program, "PATCH", upload, LARGE, upload_offset="0")
    assert (answer.status_code, answer["Upload-Offset"]) == (204, str(len(LARGE)))
    assert stored_bytes() == LARGE


def test_a_terminated_upload_is_deleted_with_its_bytes(program, upload):
    tus_request(program, "PATCH", upload, LARGE[:9], upload_offset="0")
    assert tus_request(program, "DELETE", upload).status_code == 204
    assert tus_request(program, "HEAD", upload).status_code in {404, 410}
    assert not list(spool.get_path("uploads").iterdir())


def test_an_expired_upload_is_not_found(program, upload):
    assert tus_request(program, "HEAD", upload)["Upload-Expires"].endswith("GMT")
    long_ago = OpenPacket.objects.get().touched_at - timedelta(days=400)
    OpenPacket.objects.update(touched_at=long_ago)
    assert tus_request(program, "HEAD", upload).status_code in {404, 410}


def test_another_sites_upload_is_not_found(other_program, upload):
    for method in ("HEAD", "PATCH", "DELETE"):
        assert tus_request(other_program, method, upload, upload_offset="0").status_code == 404
    assert Upload.objects.get().offset == 0


@pytest.mark.parametrize(
    ("metadata", "length", "status"),
    [
        ({"packet": str(uuid.uuid4()), "number": "0"}, len(LARGE), 404),
        ({"packet": "THE PACKET", "number": "7"}, len(LARGE), 404),
        ({"packet": "THE PACKET", "number": "0"}, 5, 422),
    ],
    ids=["unknown packet", "unknown file", "other length"],
)
def test_an_upload_of_an_undeclared_file_is_refused(program, packet, metadata, length, status):
    named = {name: packet["id"] if v == "THE PACKET" else v for name, v in metadata.items()}
    answer = tus_request(
        program, "POST", upload_length=str(length), upload_metadata=encoded(**named)
    )
    assert answer.status_code == status
    assert answer["Content-Type"] == "application/problem+json"
    assert not Upload.objects.exists()
