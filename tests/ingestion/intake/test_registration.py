"""Tests of registering submissions, which are registered as a whole or not at all."""

import pytest
from django.core.files.base import ContentFile
from django.db import IntegrityError

from audit.ledger.actors import Actor
from audit.ledger.queries import list_entries
from ingestion.core.states import BatchState, DocumentState
from ingestion.intake import manifest, registration
from ingestion.intake.submission import Submission
from ingestion.models import Batch, BatchSource, Chunk, Packet
from ingestion.storage import spool
from tests.factories import OPS, make_batch, make_site, make_user

pytestmark = pytest.mark.django_db


def upload(kind="irb-approval", person="", name="letter.pdf", content=b"%PDF-1.7"):
    return registration.UploadedDocument(name, kind, person, ContentFile(content, name))


def spooled():
    folder = spool.get_path("uploads")
    return sorted(folder.iterdir()) if folder.exists() else []


@pytest.fixture(autouse=True)
def _folders(settings, tmp_path):
    settings.SPOOL_DIR = tmp_path


def test_a_batch_is_created_with_its_packets_and_documents():
    batch = make_batch(documents=3)
    assert batch.reference.startswith("BAT-")
    assert batch.packets.get().reference.startswith("PKT-")
    assert batch.counts() == {DocumentState.RECEIVED: 3}
    assert batch.state == BatchState.QUEUED


def test_every_registered_document_has_a_ledger_entry():
    batch = make_batch(documents=2)
    for document in batch.documents.all():
        assert [entry.event for entry in list_entries(document.subject)] == ["document.received"]


def test_the_documents_of_a_large_site_are_split_into_chunks(settings):
    settings.CHUNK_SIZE = 3
    batch = make_batch(documents=8)
    sizes = [chunk.documents.count() for chunk in batch.chunks.order_by("rank")]
    assert sizes == [3, 3, 2]


def test_the_same_key_returns_the_same_batch():
    site = make_site()
    first = make_batch(site, idempotency_key="k-1")
    assert make_batch(site, idempotency_key="k-1") == first
    assert Batch.objects.count() == 1


def test_a_large_submission_does_not_delay_a_small_one_of_another_site(settings):
    settings.CHUNK_SIZE = 10
    make_batch(make_site("big"), documents=100)
    small = make_batch(make_site("small"), documents=1)
    order = list(Chunk.objects.order_by("rank", "pk").values_list("site__site_id", flat=True))
    assert order.index("small") <= 2
    assert small.chunks.count() == 1


def test_an_urgent_batch_ranks_before_other_batches():
    make_batch(make_site("patient"), priority=10)
    make_batch(make_site("urgent"), priority=1)
    assert Chunk.objects.order_by("rank").first().site.site_id == "urgent"


def test_priorities_go_from_1_to_10_and_the_default_is_5():
    assert Submission(BatchSource.MANIFEST, OPS).priority == 5
    for priority in (1, 10):
        assert make_batch(priority=priority).priority == priority
    for priority in (0, 11):
        with pytest.raises(IntegrityError):
            make_batch(priority=priority)


def test_an_upload_is_spooled_before_it_is_registered():
    site = make_site()
    packet = registration.register_upload(
        site=site, user=make_user(sites=(site,)), files=[upload()]
    )
    document = packet.documents.get()
    assert spool.get_path(document.spooled).read_bytes() == b"%PDF-1.7"
    assert document.doc_id == "irb-approval"


def test_the_doc_id_of_a_personal_document_contains_the_person():
    site = make_site()
    files = [upload("cv", "Dr. Ana Müller"), upload("cv", "Jo Brandt")]
    packet = registration.register_upload(site=site, user=make_user(sites=(site,)), files=files)
    assert sorted(packet.documents.values_list("doc_id", flat=True)) == [
        "cv.dr-ana-müller",
        "cv.jo-brandt",
    ]


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ([], "Add at least one document"),
        ([upload(kind="")], "Select a document type for letter.pdf."),
        ([upload(kind="cv")], "Enter the name of the person whose CV this is"),
        ([upload(), upload()], "several files with the type IRB approval"),
    ],
)
def test_a_packet_with_a_fault_is_refused_as_a_whole(files, why):
    site = make_site()
    with pytest.raises(manifest.SubmissionRefused, match=why):
        registration.register_upload(site=site, user=make_user(sites=(site,)), files=files)
    assert not spooled()
    assert not Packet.objects.exists()


def test_a_packet_that_is_submitted_twice_is_registered_once():
    site = make_site()
    user = make_user(sites=(site,))
    first, second = (
        registration.register_upload(
            site=site, user=user, files=[upload()], idempotency_key="form-1"
        )
        for _ in range(2)
    )
    assert first == second
    assert len(spooled()) == 1


def test_a_failed_registration_leaves_no_files_in_the_spool():
    site = make_site()
    nobody = make_user(sites=(site,))
    nobody.pk = "no number"
    with pytest.raises(ValueError, match="expected a number"):
        registration.register_upload(site=site, user=nobody, files=[upload()])
    assert not spooled()
    assert not Batch.objects.exists()


def test_the_files_of_a_folder_are_registered_under_their_stems(tmp_path):
    folder = tmp_path / "packet"
    folder.mkdir()
    (folder / "irb_letter.pdf").write_bytes(b"%PDF-")
    submission = Submission(registration.BatchSource.FOLDER, Actor("system:tests", "ops"))
    batch = registration.register_folder(folder, make_site(), submission)
    assert batch.documents.get().doc_id == "irb_letter"


def test_an_empty_folder_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    submission = Submission(registration.BatchSource.FOLDER, Actor("system:tests", "ops"))
    with pytest.raises(manifest.SubmissionRefused, match="There is no file in the folder"):
        registration.register_folder(tmp_path / "empty", make_site(), submission)


def folder_of(tmp_path, *names):
    folder = tmp_path / "packet"
    folder.mkdir()
    for name in names:
        (folder / name).write_bytes(name.encode())
    return folder


def registered(folder):
    submission = Submission(registration.BatchSource.FOLDER, Actor("system:tests", "ops"))
    batch = registration.register_folder(folder, make_site(), submission)
    return dict(batch.documents.values_list("filename", "doc_id"))


def test_if_files_share_a_stem_the_pdf_keeps_it(tmp_path):
    folder = folder_of(tmp_path, "x.pdf", "x.tiff", "x.png", "y.tiff")
    assert registered(folder) == {
        "x.pdf": "x", "x.tiff": "x.tiff", "x.png": "x.png", "y.tiff": "y",
    }  # fmt: skip


def test_if_no_pdf_shares_a_stem_all_files_use_their_full_names(tmp_path):
    folder = folder_of(tmp_path, "x.jpg", "x.tiff")
    assert registered(folder) == {"x.jpg": "x.jpg", "x.tiff": "x.tiff"}


def test_two_pdfs_with_one_stem_use_their_full_names(tmp_path):
    folder = folder_of(tmp_path, "x.pdf", "x.PDF")
    assert registered(folder) == {"x.pdf": "x.pdf", "x.PDF": "x.PDF"}


def test_files_that_would_have_one_doc_id_are_refused_by_name(tmp_path):
    folder = folder_of(tmp_path, "x.pdf", "x.tiff", "x.tiff.pdf")
    with pytest.raises(manifest.SubmissionRefused, match=r"x\.tiff and x\.tiff\.pdf would both be"):
        registered(folder)


def test_a_name_that_is_too_long_for_a_document_is_refused_by_name(tmp_path):
    folder = folder_of(tmp_path, f"{'x' * 121}.pdf")
    with pytest.raises(manifest.SubmissionRefused, match="is longer than 120 characters"):
        registered(folder)
