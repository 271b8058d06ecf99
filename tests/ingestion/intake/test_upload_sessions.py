"""Tests of resumable uploads with interrupted, repeated and concurrent requests."""

import hashlib
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import OperationalError, connection, transaction
from hypothesis import settings as of_hypothesis
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from ingestion.intake import drafts, open_packets, upload_sessions
from ingestion.intake.open_packets import DeclaredFile
from ingestion.intake.upload_sessions import (
    DigestMismatch,
    OffsetConflict,
    PartChecksum,
    PartChecksumMismatch,
    PartTooLong,
    UploadIncomplete,
    UploadNotFound,
)
from ingestion.models import OpenPacket, ReceivedPart, Upload
from ingestion.operations import retention
from ingestion.storage import spool
from tests.factories import make_site, make_user
from tests.ingestion.storage.buckets import use_buckets

pytestmark = pytest.mark.django_db
CONTENT = b"%PDF-1.7 " + bytes(range(256)) * 4
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture(autouse=True)
def _folders(settings, tmp_path):
    settings.SPOOL_DIR, settings.ARCHIVE_DIR = tmp_path / "spool", tmp_path / "archive"
    settings.SPOOL_DIR.mkdir()


def begin(content=CONTENT, sha256=SHA256):
    """Begin the upload of the only file of an open packet."""
    file = DeclaredFile("IRB.pdf", "irb-approval", "", sha256, len(content))
    packet = open_packets.open_packet(
        owner="site:1", key="k", site=make_site(), priority=5, files=[file]
    )
    return open_packets.begin_upload(packet, 0)


def stored(upload):
    """Return the bytes of a finished upload."""
    return spool.get_path(upload.spooled).read_bytes()


def spooled():
    return {f"uploads/{path.name}" for path in spool.get_path("uploads").glob("*")}


def reload(upload):
    return Upload.objects.get(pk=upload.pk)


def append(upload, offset, content, **options):
    return upload_sessions.append_part(reload(upload), offset, [content], **options)


def test_parts_of_any_length_are_joined():
    upload = begin()
    for first, last in ((0, 1), (1, 700), (700, len(CONTENT))):
        upload = append(upload, first, CONTENT[first:last])
    assert upload.is_complete
    assert stored(upload) == CONTENT
    assert spooled() == {upload.spooled}, "the parts are gone"


def test_a_single_part_is_the_file_and_is_not_copied():
    upload = append(begin(), 0, CONTENT)
    assert (stored(upload), spooled()) == (CONTENT, {upload.spooled})


def test_an_empty_file_is_complete_without_a_part():
    upload = begin(b"", hashlib.sha256(b"").hexdigest())
    assert stored(append(upload, 0, b"")) == b""


@pytest.mark.parametrize("offset", [0, 9, 11, len(CONTENT), 10**15])
def test_a_part_at_another_offset_is_dropped(offset):
    upload = append(begin(), 0, CONTENT[:10])
    with pytest.raises(OffsetConflict) as refused:
        append(upload, offset, CONTENT[offset:])
    assert refused.value.received == reload(upload).offset == 10
    assert len(spooled()) == 1


def test_a_part_that_is_too_long_is_dropped():
    upload = append(begin(), 0, CONTENT[:10])
    with pytest.raises(PartTooLong):
        append(upload, 10, CONTENT)
    assert (reload(upload).offset, len(spooled())) == (10, 1)


def test_a_part_with_another_checksum_is_dropped():
    upload, wrong = begin(), PartChecksum("sha256", hashlib.sha256(b"another part").digest())
    with pytest.raises(PartChecksumMismatch):
        append(upload, 0, CONTENT, checksum=wrong)
    assert (reload(upload).offset, spooled()) == (0, set())
    right = PartChecksum("sha256", hashlib.sha256(CONTENT).digest())
    assert append(upload, 0, CONTENT, checksum=right).is_complete


def test_a_file_that_is_not_the_declared_one_is_dropped_and_starts_again():
    upload = append(begin(), 0, CONTENT[:10])
    with pytest.raises(DigestMismatch):
        append(upload, 10, CONTENT[10:-1] + b"?")
    assert (reload(upload).offset, spooled()) == (0, set())
    assert append(upload, 0, CONTENT).is_complete


def test_bytes_before_a_lost_connection_are_kept():
    upload = append(begin(), 0, CONTENT[:100])
    with pytest.raises(UploadIncomplete):
        upload_sessions.finish_upload(upload)
    assert stored(append(upload, 100, CONTENT[100:])) == CONTENT


def test_a_server_that_dies_before_the_row_is_committed_leaves_bytes_for_prune(monkeypatch):
    upload, enter = begin(), upload_sessions._record_part

    def die(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(upload_sessions, "_record_part", die)
    with pytest.raises(KeyboardInterrupt):
        append(upload, 0, CONTENT[:100])
    monkeypatch.setattr(upload_sessions, "_record_part", enter)
    assert reload(upload).offset == 0
    (left,) = spooled()
    upload = append(upload, 0, CONTENT)
    assert stored(upload) == CONTENT
    assert not retention._is_needed(left)
    assert retention._is_needed(upload.spooled)


def test_the_bytes_stay_if_the_commit_may_have_succeeded(monkeypatch):
    """The connection to the database is lost at COMMIT, so the row may exist."""
    upload = begin()

    def commit_and_fail(row, offset, kept):
        enter(row, offset, kept)
        raise OperationalError("server closed the connection unexpectedly")

    enter = upload_sessions._record_part
    monkeypatch.setattr(upload_sessions, "_record_part", commit_and_fail)
    with pytest.raises(OperationalError):
        append(upload, 0, CONTENT[:100])
    monkeypatch.setattr(upload_sessions, "_record_part", enter)
    assert reload(upload).offset == 100
    assert stored(append(upload, 100, CONTENT[100:])) == CONTENT


def test_a_complete_file_is_finished_after_the_server_died(monkeypatch):
    upload, finish = append(begin(), 0, CONTENT[:10]), upload_sessions.finish_upload

    def die(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(upload_sessions, "finish_upload", die)
    with pytest.raises(KeyboardInterrupt):
        append(upload, 10, CONTENT[10:])
    monkeypatch.setattr(upload_sessions, "finish_upload", finish)
    assert (reload(upload).offset, reload(upload).is_complete) == (len(CONTENT), False)
    assert stored(upload_sessions.finish_upload(reload(upload))) == CONTENT


def test_a_file_that_two_requests_finish_is_stored_once(monkeypatch):
    """The first request finishes the file while the second one joins the parts."""
    upload, joined = append(begin(), 0, CONTENT[:10]), upload_sessions._join_parts
    other = []

    def join_after_another(parts):
        monkeypatch.setattr(upload_sessions, "_join_parts", joined)
        kept = joined(parts)
        other.append(upload_sessions.finish_upload(reload(upload)))
        return kept

    monkeypatch.setattr(upload_sessions, "_join_parts", join_after_another)
    upload = append(upload, 10, CONTENT[10:])
    assert upload.spooled == other[0].spooled
    assert (stored(upload), spooled()) == (CONTENT, {upload.spooled})


def test_a_terminated_upload_is_deleted_with_its_bytes():
    upload = append(begin(), 0, CONTENT[:10])
    for _ in range(2):
        upload_sessions.terminate_upload(upload)
    assert (Upload.objects.count(), spooled()) == (0, set())
    with pytest.raises(UploadNotFound):
        upload_sessions.append_part(upload, 10, [CONTENT[10:]])
    assert spooled() == set()


def test_an_upload_of_a_draft_can_be_finished_repeatedly():
    draft = drafts.begin_draft(make_user("mara"), "t")
    upload = drafts.begin_upload(draft, "IRB.pdf", len(CONTENT))
    append(upload, 0, CONTENT)
    (first, is_new), (second, is_new_again) = (
        drafts.add_finished_upload(reload(upload)) for _ in range(2)
    )
    assert (first, is_new, is_new_again) == (second, True, False)
    twin = drafts.begin_upload(draft, "copy.pdf", len(CONTENT))
    append(twin, 0, CONTENT)
    assert drafts.add_finished_upload(reload(twin)) == (first, False)
    assert spooled() == {first.spooled}


@pytest.mark.django_db(transaction=True)
def test_two_clients_that_continue_the_same_upload_keep_each_byte_once():
    upload = append(begin(), 0, CONTENT[:10])
    ready = threading.Barrier(2)

    def send(_):
        def chunks():
            yield CONTENT[10:20]
            ready.wait(30)  # both have seen offset 10
            yield CONTENT[20:]

        try:
            return upload_sessions.append_part(reload(upload), 10, chunks()).offset
        except OffsetConflict as error:
            return f"refused at {error.received}"
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as threads:
        answers = sorted(map(str, threads.map(send, range(2))))
    assert answers == [str(len(CONTENT)), f"refused at {len(CONTENT)}"]
    assert stored(reload(upload)) == CONTENT
    assert spooled() == {reload(upload).spooled}


def test_another_host_can_continue_an_upload_in_a_shared_bucket(
    settings, tmp_path, monkeypatch, s3
):
    use_buckets(s3, monkeypatch, settings)
    upload = begin()
    for host, (first, last) in enumerate(((0, 300), (300, 700), (700, len(CONTENT)))):
        settings.SPOOL_DIR = tmp_path / f"host-{host}"  # each host has a folder of its own
        settings.SPOOL_DIR.mkdir()
        upload = append(upload, first, CONTENT[first:last])
        assert not [path for path in settings.SPOOL_DIR.rglob("*") if path.is_file()]
    assert spool.open_local(upload.spooled, tmp_path).read_bytes() == CONTENT
    assert list(retention.list_needed_uploads()) == [(upload.spooled, SHA256, len(CONTENT))]


class Uploading(RuleBasedStateMachine):
    """Compares an upload with a simple model: the bytes that were accepted."""

    def __init__(self):
        super().__init__()
        self.atom = transaction.atomic()
        self.atom.__enter__()

    def teardown(self):
        transaction.set_rollback(True)
        self.atom.__exit__(None, None, None)
        for path in spool.get_path("uploads").glob("*"):
            path.unlink()

    @initialize(content=st.binary(max_size=40))
    def begin(self, content):
        OpenPacket.objects.all().delete()
        self.content, self.accepted = content, b""
        self.upload = begin(content, hashlib.sha256(content).hexdigest())

    @property
    def row(self):
        return reload(self.upload)

    @rule(size=st.integers(0, 45))
    def continue_upload(self, size):
        start = len(self.accepted)
        part = self.content[start : start + size]
        if self.row.is_complete:
            with pytest.raises(OffsetConflict):
                append(self.upload, start, part)
        else:
            append(self.upload, start, part)
            self.accepted += part

    @rule(offset=st.integers(0, 45), part=st.binary(max_size=9))
    def send_at_another_offset(self, offset, part):
        if offset != len(self.accepted):
            with pytest.raises(OffsetConflict) as refused:
                append(self.upload, offset, part)
            assert refused.value.received == len(self.accepted)

    @precondition(lambda self: not self.row.is_complete)
    @rule(part=st.binary(min_size=1, max_size=9))
    def damage_a_part(self, part):
        wrong = PartChecksum("sha256", hashlib.sha256(part + b"?").digest())
        with pytest.raises((PartChecksumMismatch, PartTooLong)):
            append(self.upload, len(self.accepted), part, checksum=wrong)

    @precondition(lambda self: not self.row.is_complete)
    @rule(extra=st.binary(min_size=1, max_size=9))
    def send_too_much(self, extra):
        start = len(self.accepted)
        with pytest.raises(PartTooLong):
            append(self.upload, start, self.content[start:] + extra)

    @precondition(lambda self: not self.row.is_complete and len(self.accepted) < len(self.content))
    @rule()
    def send_another_file(self):
        start = len(self.accepted)
        other = self.content[start:-1] + bytes([self.content[-1] ^ 1])
        with pytest.raises(DigestMismatch):
            append(self.upload, start, other)
        self.accepted = b""

    @rule(size=st.integers(0, 45))
    def send_the_whole_file(self, size):
        sent = self.content[:size]
        if sent == self.content:
            upload_sessions.receive_whole_file(self.row, [sent])
            self.accepted = self.content
        else:
            with pytest.raises(DigestMismatch):
                upload_sessions.receive_whole_file(self.row, [sent])

    @invariant()
    def bytes_equal_the_model(self):
        row = self.row
        assert row.offset == len(self.accepted)
        parts = [spool.get_path(part.spooled).read_bytes() for part in row.parts.all()]
        if row.is_complete:
            assert (stored(row), parts) == (self.content, [])
        else:
            assert b"".join(parts) == self.accepted
        known = {row.spooled} if row.is_complete else set()
        assert spooled() == known | set(ReceivedPart.objects.values_list("spooled", flat=True))


def test_an_upload_behaves_like_a_simple_model():
    run_state_machine_as_test(
        Uploading,
        settings=of_hypothesis(
            max_examples=of_hypothesis().max_examples // 2, stateful_step_count=12
        ),
    )
