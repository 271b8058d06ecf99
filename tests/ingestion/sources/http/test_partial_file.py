"""Tests of the files on disk during and after a download."""

from hashlib import sha256

import pytest

from ingestion.core.errors import BodyTruncated, ChecksumDiffers
from ingestion.sources.http.digests import ClaimedDigest
from ingestion.sources.http.partial_file import PartialFile, ResumeState

BODY = b"%PDF-1.7 " + b"x" * 2000


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("pieces", [[], [BODY[:700], BODY[700:900]]], ids=["at once", "in pieces"])
def test_a_complete_document_is_the_only_file(tmp_path, pieces):
    part = PartialFile(tmp_path, 7)
    part.begin(ResumeState(total=len(BODY)), 0)
    for piece in pieces:
        part.write(piece)
    path, digest, size = part.finish(BODY[sum(map(len, pieces)) :])
    assert (path.read_bytes(), digest, size) == (BODY, sha256(BODY).hexdigest(), len(BODY))
    assert names(tmp_path) == ["7"]


def test_a_truncated_document_leaves_no_file(tmp_path):
    part = PartialFile(tmp_path, 7)
    part.begin(ResumeState(total=len(BODY)), 0)
    with pytest.raises(BodyTruncated):
        part.finish(BODY[:100])
    assert names(tmp_path) == []


def test_a_different_digest_is_remembered_without_the_bytes(tmp_path):
    part = PartialFile(tmp_path, 7)
    part.begin(ResumeState(claim=ClaimedDigest("sha256", "0" * 64)), 0)
    with pytest.raises(ChecksumDiffers):
        part.finish(BODY)
    assert names(tmp_path) == ["7.json"]
    assert PartialFile.load(tmp_path, 7).state.differed
