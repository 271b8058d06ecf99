"""Tests of claimed digests, and of bytes that have another one."""

import base64
import hashlib

import httpx2 as httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.core.errors import ChecksumDiffers, ChecksumMismatch, TransientError
from ingestion.sources.http.digests import read_claimed_digest
from tests.ingestion.sources.http.conftest import make_item
from tests.ingestion.sources.http.servers import give

BODY = b"%PDF-1.7 " + b"x" * 300_000
SHA256 = hashlib.sha256(BODY).hexdigest()
OTHER = b"%PDF-1.7 something else"


def encoded(body, algorithm="sha256"):
    return base64.b64encode(hashlib.new(algorithm, body).digest()).decode()


def field(body, name="sha-256", algorithm="sha256"):
    return f"{name}=:{encoded(body, algorithm)}:"


def claim(manifest="", *, whole=True, **headers):
    named = httpx.Headers({name.replace("_", "-"): value for name, value in headers.items()})
    found = read_claimed_digest(manifest, named, whole=whole)
    return found.digest if found else None


def sha256(text):
    return hashlib.sha256(text).hexdigest()


def test_digests_have_an_order_of_precedence():
    fields = {
        "Repr_Digest": field(b"r"),
        "Content_Digest": field(b"c"),
        "x_amz_checksum_sha256": encoded(b"s"),
    }
    assert claim("AB" * 32, **fields) == "ab" * 32
    assert claim(**fields) == sha256(b"r")
    del fields["Repr_Digest"]
    assert claim(**fields) == sha256(b"c")
    del fields["Content_Digest"]
    assert claim(**fields) == sha256(b"s")


def test_a_part_of_a_file_has_only_the_digest_of_the_whole():
    assert (
        claim(whole=False, Content_Digest=field(b"c"), x_amz_checksum_sha256=encoded(b"s")) is None
    )
    assert claim(whole=False, Repr_Digest=field(b"r")) == sha256(b"r")


@pytest.mark.parametrize(
    "value",
    [
        f"md5=:abcd:, unixsum=:1234:, {field(b'x')}",
        f"{field(b'x')};note=1",
        f"{field(b'x', 'sha-512', 'sha512')},{field(b'x')}",
        f"{field(b'first')}, {field(b'x')}",  # RFC 8941: the last one of a name counts
    ],
)
def test_unknown_algorithms_are_ignored(value):
    assert claim(Repr_Digest=value) == sha256(b"x")


def test_sha_512_alone_is_accepted():
    digest = hashlib.sha512(b"x").hexdigest()
    assert claim(Repr_Digest=field(b"x", "sha-512", "sha512")) == digest


@pytest.mark.parametrize(
    "value",
    [
        "",
        "sha-256",
        "sha-256=abc",
        "sha-256=:!!:",
        "sha-256=:abc:",
        "md5=:abcd:",
        "x, sha-256=:YQ==:",
    ],
)
def test_a_malformed_field_is_ignored(value):
    assert claim(Repr_Digest=value) is None


def test_an_etag_is_never_a_digest():
    assert claim(ETag=f'"{SHA256}"') is None


@pytest.mark.parametrize(
    "headers",
    [
        {"x_amz_checksum_sha256": f"{encoded(b's')}-3"},
        {"x_amz_checksum_sha256": encoded(b"s"), "x_amz_checksum_type": "COMPOSITE"},
        {"x_amz_checksum_sha256": "YQ=="},
    ],
)
def test_the_composite_digest_of_a_multipart_upload_is_ignored(headers):
    assert claim(**headers) is None


@given(st.text(st.characters(max_codepoint=255), max_size=60))
def test_no_value_of_the_field_raises_an_error(value):
    read_claimed_digest("", {"Repr-Digest": value}, whole=True)


@pytest.mark.parametrize(
    "headers",
    [
        {"Repr_Digest": field(BODY)},
        {"Content_Digest": field(BODY, "sha-512", "sha512")},
        {"x_amz_checksum_sha256": encoded(BODY)},
        {"ETag": '"0000"', "Repr_Digest": "md5=:abcd:"},
    ],
)
async def test_bytes_with_the_announced_digest_are_accepted(portal, fetch, headers):
    portal.on("/cv.pdf", give(BODY, **headers))
    assert (await fetch(portal.url("/cv.pdf"))).sha256 == SHA256


@pytest.mark.requirement("R30")
async def test_a_different_digest_is_checked_by_a_second_download_and_then_refused(
    portal, portals, tmp_path
):
    portal.on("/cv.pdf", give(OTHER, ETag='"v1"', Repr_Digest=field(BODY)))
    item = make_item(portal.url("/cv.pdf"))
    async with portals() as opened:
        with pytest.raises(ChecksumDiffers) as first:
            await opened.fetch(item)
        with pytest.raises(ChecksumMismatch) as second:
            await opened.fetch(item)
    assert isinstance(first.value, TransientError)
    assert first.value.code == second.value.code == "CHECKSUM_MISMATCH"
    assert second.value.facts["expected"] == SHA256
    assert [headers["Range"] for headers in portal.headers("/cv.pdf")] == [None, None]
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.requirement("R30")
async def test_a_correct_digest_of_the_second_download_is_accepted(portal, portals, tmp_path):
    portal.on("/cv.pdf", give(OTHER), give(BODY))
    item = make_item(portal.url("/cv.pdf"), expected_sha256=SHA256)
    async with portals() as opened:
        with pytest.raises(ChecksumDiffers):
            await opened.fetch(item)
        assert (await opened.fetch(item)).sha256 == SHA256
    assert [file.name for file in tmp_path.iterdir()] == ["1"]


@pytest.mark.requirement("R30")
async def test_a_different_digest_is_remembered_across_another_failure(portal, portals):
    portal.on("/cv.pdf", give(OTHER), give(BODY[:5000], length=len(BODY), ETag='"v1"'), give(OTHER))
    item = make_item(portal.url("/cv.pdf"), expected_sha256=SHA256)
    async with portals() as opened:
        for error in (ChecksumDiffers, TransientError, ChecksumMismatch):
            with pytest.raises(error):
                await opened.fetch(item)
