"""Tests of containers and of rendered documents: from the upload to the state of each entry."""

import datetime
import io
import zipfile
from email.message import EmailMessage

import pikepdf
import pytest
from django.core.files.base import ContentFile
from django.core.management import call_command
from PIL import Image

from audit.ledger.queries import list_entries
from ingestion.core.states import DocumentState
from ingestion.dispatch.shift import work_shift
from ingestion.documents import division, downloads, page_previews, renditions
from ingestion.intake import registration
from ingestion.models import Document
from ingestion.operations.division_check import check_divisions_against_ledger
from ingestion.operations.rendition_check import check_renditions_against_ledger
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.office import find_missing_program
from ingestion.storage.archive import get_archive
from samples.documents import make_sample
from sites.models import Site
from tests.factories import make_user

pytestmark = pytest.mark.django_db(transaction=True)
needs_office = pytest.mark.skipif(
    find_missing_program(ReadingLimits()) is not None,
    reason="LibreOffice or bubblewrap is not installed",
)
LETTER = r"""{\rtf1\ansi\f0 INSTITUTIONAL REVIEW BOARD\par\par Notice of approval\par
The IRB has approved the protocol.\par}"""


@pytest.fixture
def site(one_site):
    call_command("load_sites", str(one_site.sites), verbosity=0)
    return Site.objects.get()


@pytest.fixture
def send(site):
    """`send(name, content)` uploads a file, lets a worker finish it, and returns its row."""

    def send(name, content, document_type=registration.SEVERAL_DOCUMENTS):
        file = registration.UploadedDocument(name, document_type, "", ContentFile(content))
        packet = registration.register_upload(site=site, user=make_user(), files=[file])
        for _ in range(3):  # each container inside another one needs a round of its own
            work_shift()
        return packet.documents.get(part_of=None)

    return send


def sample(kind):
    return make_sample(kind, today=datetime.datetime.now(datetime.UTC).date())


def make_zip(files):
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return output.getvalue()


def make_picture(width, height):
    output = io.BytesIO()
    Image.new("RGB", (width, height), "navy").save(output, "PNG")
    return output.getvalue()


def make_message(text, files, *, html=""):
    message = EmailMessage()
    message["From"], message["To"] = "board@irb.example", "site@example.org"
    message["Subject"], message["Date"] = "Documents", "Thu, 26 Nov 2026 10:00:00 +0000"
    message.set_content(text)
    if html:
        message.add_alternative(html, subtype="html")
        message.get_payload()[1].add_related(
            make_picture(200, 60), "image", "png", cid="<logo@irb>", filename="image001.png"
        )
    for name, content in files.items():
        message.add_attachment(content, "application", "octet-stream", filename=name)
    return message.as_bytes()


def make_portfolio(files, cover="Open this PDF portfolio in Acrobat or Adobe Reader."):
    from reportlab.pdfgen.canvas import Canvas  # noqa: PLC0415

    page = io.BytesIO()
    canvas = Canvas(page)
    canvas.drawString(72, 700, cover)
    canvas.save()
    output = io.BytesIO()
    with pikepdf.open(page) as pdf:
        for name, content in files.items():
            pdf.attachments[name] = pikepdf.AttachedFileSpec(pdf, content, filename=name)
        pdf.Root.Collection = pikepdf.Dictionary(Type=pikepdf.Name.Collection)
        pdf.save(output)
    return output.getvalue()


def outcomes(container):
    rows = container.parts.order_by("pk")
    return {row.entry_name or row.doc_id: (row.state, row.code) for row in rows}


def assert_accounts_are_complete():
    assert list(check_divisions_against_ledger()) == []
    assert list(check_renditions_against_ledger()) == []


def test_each_file_of_a_zip_archive_becomes_a_document_with_its_own_outcome(send):
    content = make_zip(
        {"irb.pdf": sample("irb-approval"), "CVs/": "", "CVs/note.txt": "Dear all",
         "__MACOSX/._irb.pdf": "x"}
    )  # fmt: skip
    container = send("packet.zip", content)
    assert (container.state, container.pages) == (DocumentState.DIVIDED, None)
    assert outcomes(container) == {
        "irb.pdf": ("ARCHIVED", ""),
        "CVs/note.txt": ("REJECTED", "UNSUPPORTED_TYPE"),
    }
    filed = container.parts.get(entry=1)
    assert (filed.doc_id, filed.filename) == (f"{container.doc_id}!1", "irb.pdf")
    assert filed.document_type == "irb-approval"
    with get_archive().open(container.sha256) as archived:
        assert archived.read() == content
    with downloads.open_original(filed) as original:
        assert original.read() == sample("irb-approval")
    (excluded,) = container.excluded_entries.all()
    assert (excluded.name, excluded.use) == ("__MACOSX/._irb.pdf", "system_file")
    first = list_entries(filed.subject)[0]
    assert first.detail["container"] == container.subject
    assert division.is_finished(Document.objects.get(pk=container.pk))
    assert_accounts_are_complete()


def test_the_attachments_of_a_message_are_documents_and_its_logo_and_note_are_set_aside(send):
    html = '<p>Please find the approval attached.</p><img src="cid:logo@irb">'
    message = make_message(
        "Please find the approval attached.", {"irb.pdf": sample("irb-approval")}, html=html
    )
    container = send("mail.eml", message)
    assert outcomes(container) == {"irb.pdf": ("ARCHIVED", "")}
    uses = dict(container.excluded_entries.values_list("name", "use"))
    assert uses == {"image001.png": "small_picture", "message text.pdf": "covering_note"}
    assert_accounts_are_complete()


def test_the_text_of_a_message_without_attachments_is_a_document_of_its_own(send):
    text = "INSTITUTIONAL REVIEW BOARD\n\nThe board met. " + "The study may begin. " * 30
    container = send("mail.eml", make_message(text, {}))
    row = container.parts.get()
    assert (row.state, row.filename) == (DocumentState.IN_REVIEW, "message text.pdf")
    (rendition,) = row.renditions.all()
    assert (rendition.kind, rendition.sha256) == ("message_pdf", row.sha256)
    assert page_previews.get_preview(row, 1)
    assert_accounts_are_complete()


@pytest.mark.slow
def test_a_small_picture_in_a_packet_is_left_to_a_person(send):
    container = send(
        "p.zip", make_zip({"a.pdf": sample("irb-approval"), "x.png": make_picture(90, 90)})
    )
    assert outcomes(container)["x.png"] == ("IN_REVIEW", "ENTRY_IN_DOUBT")


@pytest.mark.slow
def test_the_files_of_a_portfolio_are_documents_and_its_cover_is_set_aside(send):
    container = send("portfolio.pdf", make_portfolio({"irb.pdf": sample("irb-approval")}))
    assert (container.state, container.pages) == (DocumentState.DIVIDED, 1)
    assert outcomes(container) == {"irb.pdf": ("ARCHIVED", "")}
    assert list(container.excluded_pages.values_list("page", "use")) == [(1, "cover")]
    assert_accounts_are_complete()


@pytest.mark.slow
def test_other_pages_of_a_portfolio_become_a_document(send):
    cover = "Minutes of a meeting about something else"
    container = send("portfolio.pdf", make_portfolio({"i.pdf": sample("irb-approval")}, cover))
    assert [row.page_numbers for row in container.parts.filter(entry=0)] == [range(1, 2)]
    assert_accounts_are_complete()


@pytest.mark.slow
def test_a_message_in_an_archive_is_expanded_too(send):
    message = make_message("See attached.", {"irb.pdf": sample("irb-approval")})
    container = send("packet.zip", make_zip({"mail.eml": message}))
    inner = container.parts.get()
    assert inner.state == DocumentState.DIVIDED
    assert outcomes(inner) == {"irb.pdf": ("ARCHIVED", "")}
    assert inner.parts.get().doc_id == f"{container.doc_id}!1!1"
    assert_accounts_are_complete()


@pytest.mark.slow
def test_packets_in_packets_in_packets_are_refused(send):
    content = make_zip({"a.txt": "x"})
    for _ in range(3):
        content = make_zip({"inner.zip": content})
    send("nested.zip", content)
    deepest = Document.objects.order_by("pk").last()
    assert (deepest.state, deepest.code) == (DocumentState.REJECTED, "CONTAINER_REFUSED")


@needs_office
def test_a_word_processor_document_is_read_from_its_rendition(send):
    document = send("letter.rtf", LETTER.encode(), "irb-approval")
    assert document.state in {DocumentState.IN_REVIEW, DocumentState.REJECTED}
    assert document.code not in {"UNSUPPORTED_TYPE", "TYPE_MISMATCH", "CONVERSION_FAILED"}
    rendition = document.renditions.get()
    assert rendition.tool.startswith("LibreOffice ")
    assert document.extractions.get().rendition == rendition
    with get_archive().open(document.sha256) as original:
        assert original.read() == LETTER.encode()
    with get_archive().open(renditions.get_read_sha256(document)) as pages:
        assert pages.read(5) == b"%PDF-"
    assert page_previews.get_preview(document, 1)
    assert downloads.get_rendition_filename(rendition) == "letter, rendition.pdf"
    assert_accounts_are_complete()


def test_without_libreoffice_a_document_is_held_and_never_rejected(send, settings, tmp_path):
    import dataclasses  # noqa: PLC0415

    settings.READING_LIMITS = dataclasses.replace(
        settings.READING_LIMITS, office_program=str(tmp_path / "soffice")
    )
    document = send("letter.rtf", LETTER.encode(), "irb-approval")
    assert (document.state, document.code) == (DocumentState.HELD, "CONVERTER_UNAVAILABLE")
    assert not document.renditions.exists()
