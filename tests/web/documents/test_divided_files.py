"""Tests of divided files on pages, in downloads and in the HTTP interface."""

import hashlib
from io import BytesIO

import pikepdf
import pytest

from audit.ledger.queries import list_entries
from ingestion.documents import downloads
from ingestion.reading.results import DocumentReading, MediaType, PageReading, TextSource
from ingestion.rules.findings import RuleFinding
from ingestion.rules.segmentation.parts import PagePart, ProposedCut
from ingestion.rules.segmentation.separators import Separator
from ingestion.storage.archive import get_archive
from sites.models import TokenScope
from tests import steps
from tests.api.conftest import Program, make_token
from tests.factories import make_staff, verdict
from tests.ingestion.reading.documents import make_pdf
from tests.web.scenes import lease_all, make_packet, settle

SEVERAL = verdict("IN_REVIEW", RuleFinding("MULTIPLE_DOCUMENTS", 3, {"documents": "..."}))
PAGES = 7
CONTENT = make_pdf(pages=PAGES)
READING = DocumentReading(
    MediaType.PDF,
    tuple(PageReading(n, 612, 792, "", TextSource.NATIVE) for n in range(1, PAGES + 1)),
)
CUT = ProposedCut(
    (
        PagePart(1, 2, type="cv", separator=Separator("0203", "cv")),
        PagePart(3, 5, type="irb-approval", separator=Separator("0203", "irb-approval")),
    ),
    separators=(6, 7),
)


@pytest.fixture
def divided(site, mara, tmp_path, settings):
    """A file that was divided into two documents and two separator sheets."""
    settings.PREVIEW_DIR = tmp_path / "previews"
    packet = make_packet(site, mara, None, content=CONTENT)
    file = packet.documents.get()
    (tmp_path / "incoming").write_bytes(CONTENT)
    get_archive().put(tmp_path / "incoming", file.expected_sha256)
    lease = lease_all(packet)
    steps.start_checking(file.pk, lease, sha256=file.expected_sha256, size=len(CONTENT))
    steps.conclude(file.pk, lease, SEVERAL, reading=READING, cut=CUT)
    file.refresh_from_db()
    return file


@pytest.fixture
def filed(divided):
    settle(divided.packet, verdict(), verdict())
    return divided


def page_of(client, document):
    return client.get(f"/documents/{document.pk}/").content.decode()


def test_the_page_of_a_file_accounts_for_each_of_its_pages(signed_in, divided):
    html = page_of(signed_in, divided)
    for text in ("Pages 1 to 2", "Pages 3 to 5", "Page 6", "Separator sheet"):
        assert text in html
    assert "The file is finished when all its documents are finished." in html
    settle(divided.packet, verdict(), verdict())
    assert "Every page is accounted for. The file is finished." in page_of(signed_in, divided)


def test_lists_in_the_admin_count_the_documents_of_a_file_and_not_the_file(client, divided):
    client.force_login(make_staff("Operations"))
    assert "0 of 2" in client.get("/admin/ingestion/packet/").content.decode()
    settle(divided.packet, verdict(), None)
    assert "1 of 2" in client.get("/admin/ingestion/batch/").content.decode()


def test_the_page_of_a_part_names_its_pages_and_its_file(signed_in, filed):
    part = filed.parts.get(first_page=3)
    html = page_of(signed_in, part)
    assert "Pages 3 to 5 of" in html
    assert f'href="/documents/{filed.pk}/"' in html


def test_a_packet_counts_the_documents_and_not_the_file_that_holds_them(signed_in, filed):
    html = signed_in.get(f"/packets/{filed.packet.reference}/").content.decode()
    assert "All documents are on file" in html
    assert "2 of 2 checked" in html
    assert ", pages 3 to 5" in html


def test_a_part_is_downloaded_as_its_pages_and_the_file_as_it_was_received(signed_in, filed):
    part = filed.parts.get(first_page=3)
    answer = signed_in.get(f"/documents/{part.pk}/file/")
    assert 'filename="irb-approval, pages 3-5.pdf"' in answer.headers["Content-Disposition"]
    content = answer.getvalue()
    with pikepdf.open(BytesIO(content)) as pdf:
        assert len(pdf.pages) == 3
    second = signed_in.get(f"/documents/{part.pk}/file/")
    assert second.getvalue() == content  # from the cache
    assert list_entries(part.subject)[-1].event == downloads.DOWNLOADED
    whole = signed_in.get(f"/documents/{filed.pk}/file/")
    assert whole.getvalue() == CONTENT


def test_only_the_pages_of_a_part_are_shown_with_it(signed_in, filed):
    part = filed.parts.get(first_page=3)
    status = [
        signed_in.get(f"/documents/{part.pk}/pages/{page}/").status_code for page in (2, 3, 5, 6)
    ]
    assert status == [404, 200, 200, 404]


def test_a_file_is_withheld_while_one_of_its_documents_is(signed_in, divided):
    settle(divided.packet, verdict(), SEVERAL)
    assert signed_in.get(f"/documents/{divided.pk}/file/").status_code == 404
    held = divided.parts.get(first_page=3)
    assert signed_in.get(f"/documents/{held.pk}/file/").status_code == 404
    reviewer = make_staff("QA reviewers", "quinn")
    assert downloads.can_view_file(reviewer, divided)


def test_the_interface_names_file_and_pages(site, filed):
    program = Program(*make_token(TokenScope.READ, TokenScope.DOWNLOAD, site=site))
    batch = program.get(f"/api/v1/batches/{filed.batch.reference}").json()
    assert (batch["progress"]["total"], batch["progress"]["files"]) == (2, 1)
    assert batch["states"] == {"ARCHIVED": 2}
    items = program.get(f"/api/v1/documents?part_of={filed.pk}").json()["items"]
    assert [(each["part_of"], each["page_range"], each["region"]) for each in items] == [
        (filed.pk, [3, 5], None),
        (filed.pk, [1, 2], None),
    ]
    assert items[0]["doc_id"] == f"{filed.doc_id}#3-5"
    assert items[0]["sha256"] == hashlib.sha256(CONTENT).hexdigest()
    content = program.get(f"/api/v1/documents/{items[0]['id']}/content")
    assert content.headers["ETag"] == f'"{filed.sha256}#3-5"'
    assert "Repr-Digest" not in content.headers
