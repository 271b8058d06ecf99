"""Places out of our reach: a file, S3 with Object Lock, a time stamp authority. All are real."""

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
    [found] = [place for place in anchors.configured_anchors() if place.name == name]
    return found


def notes_in(place, after=0):
    return [held.note for held in place.read_back(after)]


# --- the file -----------------------------------------------------------------------------------


def test_the_file_gives_back_what_was_put_in_order(settings):
    folder = FolderAnchor(settings.ANCHOR_DIR)
    for size in (3, 5, 8):
        folder.put(ORIGIN, size, checkpoint(size))
    assert notes_in(folder) == [checkpoint(3), checkpoint(5), checkpoint(8)]
    assert notes_in(folder, after=3) == [checkpoint(5), checkpoint(8)]


@pytest.mark.parametrize("cut", [1, 20, len(ORIGIN) + 4, len(NOTE) - 1])
def test_half_a_note_that_a_power_cut_left_hides_no_other(settings, cut):
    folder = FolderAnchor(settings.ANCHOR_DIR)
    file = Path(folder.put(ORIGIN, 3, checkpoint(3)).place)
    file.write_text(file.read_text() + f"\n{NOTE}"[:cut])
    folder.put(ORIGIN, 8, checkpoint(8))
    assert notes_in(folder) == [checkpoint(3), checkpoint(8)]


def test_a_note_of_two_keys_comes_back_whole(settings):
    folder, note = FolderAnchor(settings.ANCHOR_DIR), signed_note.sign_note(HEAD.text, [NEW, OLD])
    folder.put(ORIGIN, 41, note)
    assert notes_in(folder) == [note]


def test_a_folder_that_cannot_be_written_says_so(settings):
    settings.ANCHOR_DIR.mkdir()
    (settings.ANCHOR_DIR / "checkpoints.log").mkdir()
    with pytest.raises(AnchorError, match="cannot be written"):
        FolderAnchor(settings.ANCHOR_DIR).put(ORIGIN, 3, checkpoint(3))


# --- S3 -----------------------------------------------------------------------------------------


def test_a_bucket_gives_back_what_was_put(bucket, settings):
    settings.AUDIT_ORIGIN = ORIGIN
    settings.ANCHOR_S3_PREFIX = "ledgers/"
    taken = place("s3").put(ORIGIN, 8, checkpoint(8))
    assert taken.place == f"s3://{bucket}/ledgers/{ORIGIN}/8.checkpoint"
    assert taken.proof
    assert notes_in(place("s3")) == [checkpoint(8)]
    assert notes_in(place("s3"), after=8) == []


@pytest.mark.requirement("R05")
def test_nobody_can_delete_or_shorten_what_a_bucket_took(bucket, s3):
    taken = place("s3").put(ORIGIN, 8, checkpoint(8))
    version = {"Bucket": bucket, "Key": f"{ORIGIN}/8.checkpoint", "VersionId": taken.proof}
    there = s3.head_object(**version)
    assert there["ObjectLockMode"] == "COMPLIANCE"
    assert there["ObjectLockRetainUntilDate"].year >= datetime.now(UTC).year + 25
    with pytest.raises(ClientError, match="AccessDenied"):
        s3.delete_object(**version)
    with pytest.raises(ClientError, match="AccessDenied"):
        s3.delete_object(**version, BypassGovernanceRetention=True)


@pytest.mark.requirement("R05")
def test_what_lies_on_top_does_not_hide_what_is_below(bucket, s3, settings):
    settings.AUDIT_ORIGIN = ORIGIN
    place("s3").put(ORIGIN, 8, checkpoint(8))
    s3.put_object(Bucket=bucket, Key=f"{ORIGIN}/8.checkpoint", Body=b"something else")
    s3.delete_object(Bucket=bucket, Key=f"{ORIGIN}/8.checkpoint")
    assert checkpoint(8) in notes_in(place("s3"))


def test_to_put_the_same_again_makes_no_second_version(bucket, s3):
    first = place("s3").put(ORIGIN, 8, checkpoint(8))
    assert place("s3").put(ORIGIN, 8, checkpoint(8)) == first
    assert len(s3.list_object_versions(Bucket=bucket)["Versions"]) == 1


def test_another_checkpoint_of_the_same_size_is_not_put_on_top(bucket, s3):
    place("s3").put(ORIGIN, 8, checkpoint(8))
    with pytest.raises(AnchorError, match="another checkpoint of this size"):
        place("s3").put(ORIGIN, 8, NOTE)
    assert len(s3.list_object_versions(Bucket=bucket)["Versions"]) == 1


def test_an_object_that_lies_there_unlocked_is_no_anchor(bucket, s3):
    s3.put_object(Bucket=bucket, Key=f"{ORIGIN}/8.checkpoint", Body=checkpoint(8).encode())
    with pytest.raises(AnchorError, match="not locked"):
        place("s3").put(ORIGIN, 8, checkpoint(8))


def test_a_bucket_without_object_lock_is_no_anchor(bucket, s3, settings):
    settings.ANCHOR_S3_BUCKET = f"{bucket}-plain"
    s3.create_bucket(Bucket=settings.ANCHOR_S3_BUCKET)
    with pytest.raises(AnchorError):
        place("s3").put(ORIGIN, 8, checkpoint(8))


def test_a_bucket_that_is_not_there_is_named(bucket, settings):
    settings.ANCHOR_S3_BUCKET = f"{bucket}-nowhere"
    with pytest.raises(AnchorError, match=f"{bucket}-nowhere"):
        place("s3").put(ORIGIN, 8, checkpoint(8))
    with pytest.raises(AnchorError, match=f"{bucket}-nowhere"):
        notes_in(place("s3"))


# --- a time stamp authority ---------------------------------------------------------------------


@pytest.mark.requirement("R05")
def test_openssl_accepts_the_token_that_we_keep(stamped):
    taken = place("rfc3161").put(ORIGIN, 41, NOTE)
    said = stamped.verify(base64.b64decode(taken.proof), NOTE.encode())
    assert taken.place == stamped.address
    assert b"OK" in said
    assert rfc3161.token_time(taken.proof).utcoffset().total_seconds() == 0


def test_a_token_for_other_bytes_is_not_kept(stamped, monkeypatch):
    other = place("rfc3161").put(ORIGIN, 8, checkpoint(8)).proof
    monkeypatch.setattr(stamped.server, "tamper", lambda _: base64.b64decode(other))
    with pytest.raises(AnchorError, match="does not hold"):
        place("rfc3161").put(ORIGIN, 41, NOTE)


def test_a_token_of_another_authority_is_not_kept(stamped, settings, tmp_path):
    settings.ANCHOR_TSA_CERTIFICATES = str(Authority(tmp_path).root)
    with pytest.raises(AnchorError, match="does not hold"):
        place("rfc3161").put(ORIGIN, 41, NOTE)


def test_an_answer_that_is_no_token_is_not_kept(stamped, monkeypatch):
    monkeypatch.setattr(stamped.server, "tamper", lambda _: b"<html>")
    with pytest.raises(AnchorError, match="does not hold"):
        place("rfc3161").put(ORIGIN, 41, NOTE)


def test_a_missing_certificate_is_named(stamped, settings, tmp_path):
    settings.ANCHOR_TSA_CERTIFICATES = str(tmp_path / "none.pem")
    with pytest.raises(AnchorError, match=r"none\.pem"):
        place("rfc3161").put(ORIGIN, 41, NOTE)


def test_an_authority_that_does_not_answer_is_named(stamped, settings):
    settings.ANCHOR_TSA = f"http://127.0.0.1:{free_port()}/"
    with pytest.raises(AnchorError, match="gave no token"):
        place("rfc3161").put(ORIGIN, 41, NOTE)
