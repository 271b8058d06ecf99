"""Pages of documents whose originals are under lock: who sees and downloads what."""

import hashlib
import io
import zipfile

import pikepdf
import pytest

from audit import outbox
from audit.ledger.queries import list_entries
from ingestion.documents import inert_renditions, renditions
from ingestion.models import Action, Document, DocumentRendition
from ingestion.rules.findings import RuleFinding
from sites.roles import OPERATORS, QA_REVIEWERS
from tests.factories import make_staff, make_user, verdict
from tests.ingestion.dispatch.test_containers import make_zip
from tests.ingestion.reading.documents import add_script, make_pdf
from tests.ingestion.review.reviewers import decide, lead
from tests.web.conftest import text
from tests.web.scenes import FILED

SCRIPTED = RuleFinding("ACTIVE_CONTENT", facts={"kinds": "javascript embedded-file"})
HARMFUL = verdict("IN_REVIEW", SCRIPTED)
ORIGINAL = add_script(make_pdf(pages=2))
KIND = inert_renditions.KIND.name
REASON = "The site asked which file it is."


@pytest.fixture
def locked(sent):
    """`locked(state)` returns a document with active content, and its pictures are made."""

    def send(state="IN_REVIEW", *, is_made=True):
        document = sent(HARMFUL, ORIGINAL)
        if is_made:
            outbox.deliver_due(KIND)
        if state == "ARCHIVED":
            decide(document, Action.UNSEAL, lead("lena", "Lena Berg"))
        elif state == "RETURNED":
            decide(document, Action.RETURN, lead("lena", "Lena Berg"))
        return Document.objects.get()

    return send


def file_of(client, document, query="", **post):
    """Return what a download gives: "original", "inert", or the status of the response."""
    url = f"/documents/{document.pk}/file/{query}"
    answer = client.post(url, post) if post else client.get(url)
    if answer.status_code != 200 or not answer.streaming:
        return answer.status_code
    content = b"".join(answer.streaming_content)
    if content == ORIGINAL:
        return "original"
    sha256 = hashlib.sha256(content).hexdigest()
    (kind,) = DocumentRendition.objects.filter(sha256=sha256).values_list("kind", flat=True)
    assert "rendition.pdf" in answer.headers["Content-Disposition"]
    assert answer.headers["Content-Type"] == "application/pdf"
    return kind


@pytest.mark.parametrize("state", ["IN_REVIEW", "RETURNED", "ARCHIVED"])
def test_only_qa_downloads_the_original_and_all_others_get_pictures(
    client, locked, mara, ines, state
):
    document = locked(state)
    staff = "inert" if state != "IN_REVIEW" else 404
    administrator = make_user("admin", is_staff=True, is_superuser=True)
    expected = {
        mara: "inert",
        ines: staff,
        make_staff(QA_REVIEWERS, "quinn"): "original",
        make_user("stranger"): 404,
    }
    for person, outcome in expected.items():
        client.force_login(person)
        assert file_of(client, document) == outcome, person
    for person in (make_staff(OPERATORS, "ole"), administrator):  # they have to give a reason
        client.force_login(person)
        assert file_of(client, document, reason=REASON) == staff, person


def test_qa_can_download_the_pictures_too(client, locked):
    document = locked()
    client.force_login(make_staff(QA_REVIEWERS, "quinn"))
    rendition = renditions.find_inert_rendition(document)
    assert file_of(client, document, f"?rendition={rendition.pk}") == "inert"


def test_each_download_is_recorded_with_what_was_downloaded(client, locked, mara):
    document = locked()
    rendition = renditions.find_inert_rendition(document)
    for person in (mara, make_staff(QA_REVIEWERS, "quinn")):
        client.force_login(person)
        answer = client.head(f"/documents/{document.pk}/file/")
        for close in answer._resource_closers:  # as a server does
            close()
        file_of(client, document)
    downloaded = [
        (entry.actor, (entry.detail or {}).get("rendition"))
        for entry in list_entries(document.subject)
        if entry.event == "document.downloaded"
    ]
    quinn = person.actor_name
    assert downloaded == [(mara.actor_name, rendition.sha256), (quinn, None)]


def test_the_page_tells_the_site_what_it_sees_and_why(signed_in, locked):
    page = text(signed_in.get(f"/documents/{locked().pk}/"))
    assert "You see an inert rendition" in page
    assert "a script, which runs when the file is opened or used" in page
    assert "an attached file, which may be a program" in page
    assert "Download the inert rendition" in page
    assert "Download the original" not in page
    assert "Rendition made" in page


def test_the_page_warns_qa_of_the_original(client, locked):
    client.force_login(make_staff(QA_REVIEWERS, "quinn"))
    page = text(client.get(f"/documents/{locked().pk}/"))
    assert "The original is under lock" in page
    assert "Open the original only on a computer on which it can do no harm" in page
    assert "Download the original" in page
    assert "Download the inert rendition" in page


def test_a_rendition_that_is_not_made_yet_is_announced_and_requested_once(signed_in, locked):
    """As for a document of an earlier release, which has no rendition and no request."""
    document = locked(is_made=False)
    outbox.OutboxMessage.objects.all().delete()
    for _ in range(2):
        page = text(signed_in.get(f"/documents/{document.pk}/"))
        assert "The rendition is being made" in page
        assert "Download the" not in page
        assert file_of(signed_in, document) == 302
    outbox.deliver_due(KIND)
    assert file_of(signed_in, document) == "inert"
    assert "The rendition is being made" not in text(signed_in.get(f"/documents/{document.pk}/"))


def test_the_site_sees_pages_of_what_it_sent_although_it_is_in_quarantine(signed_in, locked):
    answer = signed_in.get(f"/documents/{locked(is_made=False).pk}/pages/2/")
    assert answer.headers["Content-Type"] == "image/webp"


def test_what_an_earlier_release_recorded_about_a_file_is_shown(signed_in, sent):
    finding = RuleFinding("ACTIVE_CONTENT", facts={"kinds": "scripts and attached files"})
    document = sent(verdict("IN_REVIEW", finding), ORIGINAL)
    page = text(signed_in.get(f"/documents/{document.pk}/"))
    assert page.count("The file contains scripts and attached files.") == 2


def test_a_document_without_active_content_is_shown_as_before(signed_in, sent):
    document = sent(FILED, make_pdf())
    page = text(signed_in.get(f"/documents/{document.pk}/"))
    assert "inert" not in page
    assert "Download the file" in page


def test_only_qa_can_certify_a_copy_of_an_original_under_lock(client, locked, mara):
    document = locked("ARCHIVED")
    url = f"/documents/{document.pk}/copies/"
    given = {"reason": REASON, "username": "mara", "password": "correct horse"}
    client.force_login(mara)
    assert "Create certified copy" not in text(client.get(f"/documents/{document.pk}/"))
    assert "Ask QA for a certified copy." in text(client.get(url))
    assert client.post(url, given).status_code == 409
    quinn = make_staff(QA_REVIEWERS, "quinn")
    client.force_login(quinn)
    assert "Create certified copy" in text(client.get(f"/documents/{document.pk}/"))
    assert client.post(url, given | {"username": "quinn"}).status_code == 302
    seq = list_entries(document.subject)[-1].seq
    package = client.get(f"{url}{seq}/")
    files = zipfile.ZipFile(io.BytesIO(b"".join(package.streaming_content)))
    assert ORIGINAL in [files.read(name) for name in files.namelist()]
    quinn.groups.clear()
    assert client.get(f"{url}{seq}/").status_code == 404  # sees no documents any more


def test_a_part_of_a_file_under_lock_is_cut_out_of_the_pictures(client, locked, mara):
    """Such a file was divided before it was known to have active content."""
    file = locked("ARCHIVED")
    part = Document.objects.create(
        batch=file.batch, packet=file.packet, site=file.site, chunk=file.chunk, doc_id="part#2-2",
        sha256=file.sha256, size=file.size, state="REJECTED", part_of=file, first_page=2,
        last_page=2, settled_at=file.settled_at, pages=1,
    )  # fmt: skip
    client.force_login(mara)
    answer = client.get(f"/documents/{part.pk}/file/")
    with pikepdf.open(io.BytesIO(b"".join(answer.streaming_content))) as cut:
        assert len(cut.pages) == 1
        assert "/Picture" in cut.pages[0].Resources.XObject
        assert "/OpenAction" not in cut.Root
    assert "page 2, rendition.pdf" in answer.headers["Content-Disposition"]
    client.force_login(make_staff(QA_REVIEWERS, "quinn"))
    answer = client.get(f"/documents/{part.pk}/file/")
    with pikepdf.open(io.BytesIO(b"".join(answer.streaming_content))) as cut:
        assert "/Font" in cut.pages[0].Resources
    Document.objects.filter(pk=part.pk).delete()


def test_a_container_with_an_original_under_lock_is_for_qa_only(client, sent, mara):
    """A person could extract the original of the entry from the container."""
    container = sent(FILED, make_zip({"cv.pdf": ORIGINAL}))
    entry = sent(HARMFUL, ORIGINAL)
    decide(entry, Action.UNSEAL, lead("lena", "Lena Berg"))
    entries = Document.objects.filter(pk=entry.pk)
    entries.update(part_of=container, entry=1, entry_name="cv.pdf")
    Document.objects.filter(pk=container.pk).update(state="DIVIDED")
    client.force_login(mara)
    assert file_of(client, container) == 404
    client.force_login(make_staff(QA_REVIEWERS, "quinn"))
    answer = client.get(f"/documents/{container.pk}/file/")
    assert b"".join(answer.streaming_content).startswith(b"PK")
    entries.update(part_of=None, entry=0, entry_name="")
    Document.objects.filter(pk=container.pk).update(state="ARCHIVED")
