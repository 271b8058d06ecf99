"""Resumable uploads over tus 1.0, by the foreign client tuspy and request by request."""

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
    """An open packet of one large file, as the interface describes it."""
    response = program.send({"files": [declared(LARGE)]})
    assert response.status_code == 201, response.content
    return response.json()


def encoded(**metadata):
    return ",".join(f"{k} {base64.b64encode(v.encode()).decode()}" for k, v in metadata.items())


def ask(program, method, path="/api/v1/uploads", data=b"", **headers):
    headers = VERSION | {name.replace("_", "-"): value for name, value in headers.items()}
    return program.ask(method, path, data=data, content_type=BYTES, headers=headers)


@pytest.fixture
def begun(program, packet):
    """The address of an upload of which nothing has come yet."""
    metadata = encoded(packet=packet["id"], number="0")
    answer = ask(program, "POST", upload_length=str(len(LARGE)), upload_metadata=metadata)
    assert answer.status_code == 201, answer.content
    return path_of(answer["Location"])


def stored():
    return spool.get_path(Upload.objects.get().spooled).read_bytes()


@pytest.mark.django_db(transaction=True)
def test_a_foreign_client_uploads_in_parts_and_goes_on_at_another_server(
    program, packet, settings, site
):
    """The second server has the database and the spool in common with the first, and no memory."""
    headers = {"Authorization": f"Bearer {program.secret}"}
    options = {"chunk_size": PART, "upload_checksum": True}
    metadata = {"packet": packet["id"], "number": "0"}
    with web_server(settings) as first:
        client = TusClient(f"{first}/api/v1/uploads", headers=headers)
        begun = client.uploader(file_stream=io.BytesIO(LARGE), metadata=metadata, **options)
        begun.upload(stop_at=3 * PART)
    assert Upload.objects.get().offset == 3 * PART
    with web_server(settings) as second:
        client = TusClient(f"{second}/api/v1/uploads", headers=headers)
        address = begun.url.replace(first, second)
        onward = Uploader(file_stream=io.BytesIO(LARGE), url=address, client=client, **options)
        assert onward.offset == 3 * PART
        onward.upload()
        assert stored() == LARGE
        assert not ReceivedPart.objects.exists()
        submitted = requests.post(
            packet["submit_url"].replace("http://testserver", second), headers=headers, timeout=60
        )
    assert submitted.status_code in {200, 202}, submitted.text
    assert Document.objects.get().packet.site == site


def test_what_the_server_can_do_is_told_without_a_version(program):
    answer = program.ask("OPTIONS", "/api/v1/uploads")
    assert answer.status_code == 204
    assert answer["Tus-Version"] == answer["Tus-Resumable"] == "1.0.0"
    extensions = set(answer["Tus-Extension"].split(","))
    assert extensions >= {"creation", "checksum", "expiration", "termination"}
    assert "sha1" in answer["Tus-Checksum-Algorithm"]


def test_another_version_is_refused(program, begun):
    answer = ask(program, "HEAD", begun, tus_resumable="0.2.2")
    assert (answer.status_code, answer["Tus-Version"]) == (412, "1.0.0")


def test_a_part_with_another_checksum_is_not_kept(program, begun):
    wrong = "sha1 " + base64.b64encode(hashlib.sha1(b"other").digest()).decode()  # noqa: S324
    answer = ask(program, "PATCH", begun, LARGE[:9], upload_offset="0", upload_checksum=wrong)
    assert answer.status_code == 460
    assert ask(program, "HEAD", begun)["Upload-Offset"] == "0"


def test_a_part_for_another_offset_is_refused(program, begun):
    ask(program, "PATCH", begun, LARGE[:9], upload_offset="0")
    assert ask(program, "PATCH", begun, LARGE[:9], upload_offset="0").status_code == 409
    assert ask(program, "HEAD", begun)["Upload-Offset"] == "9"


def test_a_file_other_than_declared_starts_again(program, begun):
    other = b"x" * len(LARGE)
    assert ask(program, "PATCH", begun, other, upload_offset="0").status_code == 422
    assert ask(program, "HEAD", begun)["Upload-Offset"] == "0"
    answer = ask(program, "PATCH", begun, LARGE, upload_offset="0")
    assert (answer.status_code, answer["Upload-Offset"]) == (204, str(len(LARGE)))
    assert stored() == LARGE


def test_a_terminated_upload_is_gone_with_its_bytes(program, begun):
    ask(program, "PATCH", begun, LARGE[:9], upload_offset="0")
    assert ask(program, "DELETE", begun).status_code == 204
    assert ask(program, "HEAD", begun).status_code in {404, 410}
    assert not list(spool.get_path("uploads").iterdir())


def test_an_expired_upload_is_gone(program, begun):
    assert ask(program, "HEAD", begun)["Upload-Expires"].endswith("GMT")
    long_ago = OpenPacket.objects.get().touched_at - timedelta(days=400)
    OpenPacket.objects.update(touched_at=long_ago)
    assert ask(program, "HEAD", begun).status_code in {404, 410}


def test_another_sites_upload_does_not_exist(stranger, begun):
    for method in ("HEAD", "PATCH", "DELETE"):
        assert ask(stranger, method, begun, upload_offset="0").status_code == 404
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
def test_an_upload_of_what_was_not_declared_is_refused(program, packet, metadata, length, status):
    named = {name: packet["id"] if v == "THE PACKET" else v for name, v in metadata.items()}
    answer = ask(program, "POST", upload_length=str(length), upload_metadata=encoded(**named))
    assert answer.status_code == status
    assert answer["Content-Type"] == "application/problem+json"
    assert not Upload.objects.exists()
