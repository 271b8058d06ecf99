"""Tests of the kinds of anchors: a folder, S3 with Object Lock, and a time stamp authority.

The servers are real ones: moto's S3 server and an authority that runs `openssl ts`.
"""

import base64
from datetime import UTC, datetime
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from audit.signing import anchors, signed_note
from audit.signing.places import rfc3161
from audit.signing.places.folder import FolderAnchor
from audit.signing.places.port import AnchorError
from tests.audit.authority import Authority
from tests.audit.buckets import free_port
from tests.audit.signing.test_signed_note import (
    HEAD,
    NEW,
    NOTE,
    OLD,
    checkpoint,
)

ORIGIN = "siteledger.example/trail"


def place(name):
    [found] = [place for place in anchors.list_configured_anchors() if place.name == name]
    return found


def notes_in(place, after=0):
    return [anchored.note for anchored in place.read_back(after)]


# --- a folder -----------------------------------------------------------------------------------


def test_notes_are_read_back_from_the_file_in_their_order(settings):
    folder = FolderAnchor(settings.ANCHOR_DIR)
    for size in (3, 5, 8):
        folder.put(ORIGIN, size, checkpoint(size))
    assert notes_in(folder) == [checkpoint(3), checkpoint(5), checkpoint(8)]
    assert notes_in(folder, after=3) == [checkpoint(5), checkpoint(8)]


@pytest.mark.parametrize("cut", [1, 20, len(ORIGIN) + 4, len(NOTE) - 1])
def test_an_incomplete_note_after_a_power_failure_hides_no_other_note(settings, cut):
    folder = FolderAnchor(settings.ANCHOR_DIR)
    file = Path(folder.put(ORIGIN, 3, checkpoint(3)).place)
    file.write_text(file.read_text() + f"\n{NOTE}"[:cut])
    folder.put(ORIGIN, 8, checkpoint(8))
    assert notes_in(folder) == [checkpoint(3), checkpoint(8)]


def test_a_note_signed_with_two_keys_is_read_back_unchanged(settings):
    folder, note = FolderAnchor(settings.ANCHOR_DIR), signed_note.sign_note(HEAD.text, [NEW, OLD])
    folder.put(ORIGIN, 41, note)
    assert notes_in(folder) == [note]


def test_a_folder_that_cannot_be_written_to_is_reported(settings):
    settings.ANCHOR_DIR.mkdir()
    (settings.ANCHOR_DIR / "checkpoints.log").mkdir()
    with pytest.raises(AnchorError, match="cannot be written"):
        FolderAnchor(settings.ANCHOR_DIR).put(ORIGIN, 3, checkpoint(3))


# --- S3 -----------------------------------------------------------------------------------------


def test_notes_are_read_back_from_a_bucket(bucket, settings):
    settings.AUDIT_ORIGIN = ORIGIN
    settings.ANCHOR_S3_PREFIX = "ledgers/"
    stored = place("s3").put(ORIGIN, 8, checkpoint(8))
    assert stored.place == f"s3://{bucket}/ledgers/{ORIGIN}/8.checkpoint"
    assert stored.proof
    assert notes_in(place("s3")) == [checkpoint(8)]
    assert notes_in(place("s3"), after=8) == []


@pytest.mark.requirement("R05")
def test_a_version_in_a_bucket_is_locked_and_cannot_be_deleted(bucket, s3):
    stored = place("s3").put(ORIGIN, 8, checkpoint(8))
    version = {"Bucket": bucket, "Key": f"{ORIGIN}/8.checkpoint", "VersionId": stored.proof}
    head = s3.head_object(**version)
    assert head["ObjectLockMode"] == "COMPLIANCE"
    assert head["ObjectLockRetainUntilDate"].year >= datetime.now(UTC).year + 25
    with pytest.raises(ClientError, match="AccessDenied"):
        s3.delete_object(**version)
    with pytest.raises(ClientError, match="AccessDenied"):
        s3.delete_object(**version, BypassGovernanceRetention=True)


@pytest.mark.requirement("R05")
def test_newer_versions_and_delete_markers_do_not_hide_a_checkpoint(bucket, s3, settings):
    settings.AUDIT_ORIGIN = ORIGIN
    place("s3").put(ORIGIN, 8, checkpoint(8))
    s3.put_object(Bucket=bucket, Key=f"{ORIGIN}/8.checkpoint", Body=b"something else")
    s3.delete_object(Bucket=bucket, Key=f"{ORIGIN}/8.checkpoint")
    assert checkpoint(8) in notes_in(place("s3"))


def test_storing_the_same_checkpoint_again_creates_no_second_version(bucket, s3):
    first = place("s3").put(ORIGIN, 8, checkpoint(8))
    assert place("s3").put(ORIGIN, 8, checkpoint(8)) == first
    assert len(s3.list_object_versions(Bucket=bucket)["Versions"]) == 1


def test_another_checkpoint_of_the_same_size_is_refused(bucket, s3):
    place("s3").put(ORIGIN, 8, checkpoint(8))
    with pytest.raises(AnchorError, match="another checkpoint of this size"):
        place("s3").put(ORIGIN, 8, NOTE)
    assert len(s3.list_object_versions(Bucket=bucket)["Versions"]) == 1


def test_an_existing_object_without_a_lock_is_refused(bucket, s3):
    s3.put_object(Bucket=bucket, Key=f"{ORIGIN}/8.checkpoint", Body=checkpoint(8).encode())
    with pytest.raises(AnchorError, match="not locked"):
        place("s3").put(ORIGIN, 8, checkpoint(8))


def test_a_bucket_without_object_lock_is_refused(bucket, s3, settings):
    settings.ANCHOR_S3_BUCKET = f"{bucket}-plain"
    s3.create_bucket(Bucket=settings.ANCHOR_S3_BUCKET)
    with pytest.raises(AnchorError):
        place("s3").put(ORIGIN, 8, checkpoint(8))


def test_the_error_about_a_missing_bucket_contains_its_name(bucket, settings):
    settings.ANCHOR_S3_BUCKET = f"{bucket}-nowhere"
    with pytest.raises(AnchorError, match=f"{bucket}-nowhere"):
        place("s3").put(ORIGIN, 8, checkpoint(8))
    with pytest.raises(AnchorError, match=f"{bucket}-nowhere"):
        notes_in(place("s3"))


# --- a time stamp authority ---------------------------------------------------------------------


@pytest.mark.requirement("R05")
def test_openssl_accepts_the_stored_time_stamp(stamped):
    stored = place("rfc3161").put(ORIGIN, 41, NOTE)
    printed = stamped.verify(base64.b64decode(stored.proof), NOTE.encode())
    assert stored.place == stamped.address
    assert b"OK" in printed
    assert rfc3161.read_token_time(stored.proof).utcoffset().total_seconds() == 0


def test_a_time_stamp_of_other_bytes_is_refused(stamped, monkeypatch):
    other = place("rfc3161").put(ORIGIN, 8, checkpoint(8)).proof
    monkeypatch.setattr(stamped.server, "tamper", lambda _: base64.b64decode(other))
    with pytest.raises(AnchorError, match="does not verify"):
        place("rfc3161").put(ORIGIN, 41, NOTE)


def test_a_time_stamp_of_another_authority_is_refused(stamped, settings, tmp_path):
    settings.ANCHOR_TSA_CERTIFICATES = str(Authority(tmp_path).root)
    with pytest.raises(AnchorError, match="does not verify"):
        place("rfc3161").put(ORIGIN, 41, NOTE)


def test_a_response_without_a_time_stamp_is_refused(stamped, monkeypatch):
    monkeypatch.setattr(stamped.server, "tamper", lambda _: b"<html>")
    with pytest.raises(AnchorError, match="does not verify"):
        place("rfc3161").put(ORIGIN, 41, NOTE)


def test_the_error_about_a_missing_certificate_contains_its_path(stamped, settings, tmp_path):
    settings.ANCHOR_TSA_CERTIFICATES = str(tmp_path / "none.pem")
    with pytest.raises(AnchorError, match=r"none\.pem"):
        place("rfc3161").put(ORIGIN, 41, NOTE)


def test_an_authority_that_does_not_respond_is_reported(stamped, settings):
    settings.ANCHOR_TSA = f"http://127.0.0.1:{free_port()}/"
    with pytest.raises(AnchorError, match="returned no time stamp"):
        place("rfc3161").put(ORIGIN, 41, NOTE)
