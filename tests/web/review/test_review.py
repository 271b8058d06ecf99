"""The pages of QA: access, contents, and signed decisions."""

import csv
from io import StringIO

import pytest
from django.contrib.auth.models import Group

from audit.ledger.queries import list_entries
from ingestion.models import Action, Decision, Document
from ingestion.review import assignments, decisions, review_requests
from ingestion.rules.findings import RuleFinding
from tests.factories import make_site, make_user, verdict
from tests.ingestion.review.reviewers import NOTE, REASON, decide, lead, reviewer
from tests.web.scenes import FILED, IN_REVIEW, REJECTED

SIGNED = {"username": "ines", "password": "correct horse"}


@pytest.fixture
def ines(db):
    return lead("ines", "Inês Duarte")


@pytest.fixture
def rafael(db):
    return reviewer("rafael", "Rafael Duarte")


@pytest.fixture
def reviewing(client, ines):
    client.force_login(ines)
    return client


def sign(client, document, action, *, fragment=False, **fields):
    headers = {"X-Fragment": "1"} if fragment else {}
    made_on = {"made_on": decisions.get_version(document)}
    url = f"/admin/review/{document.pk}/sign/?action={action}"
    return client.post(url, made_on | fields, headers=headers)


def text(answer):
    return answer.content.decode()


@pytest.mark.parametrize("page", ["", "1/", "1/sign/?action=release"])
def test_only_reviewers_can_open_the_review_pages(client, mara, page):
    url = f"/admin/review/{page}"
    assert client.get(url).status_code == 302
    client.force_login(mara)
    assert client.get(url).status_code == 403
    client.force_login(make_user("staff", is_staff=True))
    assert client.get(url).status_code == 403


def test_an_empty_queue_is_explained(reviewing):
    assert "No documents are waiting for a decision." in text(reviewing.get("/admin/review/"))
    found = text(reviewing.get("/admin/review/?code=SITE_MISMATCH"))
    assert "No documents match these filters." in found


def test_every_page_shows_reviewers_how_many_documents_wait(reviewing, sent, mara):
    assert "sl-count" not in text(reviewing.get("/help/"))
    sent(IN_REVIEW)
    assert '>1<span class="sl-vh"> waiting</span>' in text(reviewing.get("/help/"))
    reviewing.force_login(mara)
    assert "sl-count" not in text(reviewing.get("/help/"))


def test_the_queue_shows_and_filters_the_attributes_of_codes(reviewing, sent):
    sent(IN_REVIEW)
    page = text(reviewing.get("/admin/review/"))
    assert "Reconciliation, Major, Final. Owner: QA" in page
    found = text(reviewing.get("/admin/review/?owner=qa&severity=major&retryable=no"))
    assert "1 document to decide" in found
    for query in ("owner=sponsor", "severity=critical", "category=privacy", "retryable=yes"):
        page = text(reviewing.get(f"/admin/review/?{query}"))
        assert "No documents match these filters." in page


def test_the_filtered_queue_can_be_downloaded_with_the_attributes(reviewing, sent):
    document = sent(IN_REVIEW)
    answer = reviewing.get("/admin/review/queue.csv")
    assert answer["Content-Type"].startswith("text/csv")
    (row,) = csv.DictReader(StringIO(b"".join(answer).decode()))
    attributes = [row[name] for name in ("category", "severity", "owner", "retryable")]
    assert attributes == ["reconciliation", "major", "qa", "no"]
    assert (row["document"], row["code"]) == (str(document.pk), document.code)
    narrowed = b"".join(reviewing.get("/admin/review/queue.csv?owner=sponsor")).decode()
    assert list(csv.DictReader(StringIO(narrowed))) == []


def test_reviewers_start_at_the_queue(client, rafael):
    answer = client.post("/login/", {"username": "rafael", "password": "correct horse"})
    assert answer.url == "/admin/review/"


def test_the_queue_shows_reason_deadline_and_reviewer(reviewing, sent, rafael):
    document = sent(IN_REVIEW)
    assignments.assign(document, rafael, by=rafael)
    page = text(reviewing.get("/admin/review/"))
    for part in ("IRB approval, site 0203", "Names another site", "Rafael Duarte", "1 document"):
        assert part in page


def test_the_page_shows_findings_fields_versions_and_the_request_of_the_site(
    reviewing,
    sent,
    mara,
):
    document = sent(REJECTED)
    review_requests.request_review(document, "It is signed <on the back>.", user=mara)
    page = text(reviewing.get(f"/admin/review/{document.pk}/"))
    assert "It is signed &lt;on the back&gt;." in page
    assert "Page 2 is not signed." in page
    assert "Page 2 of 2" in page, "that of the finding comes first"
    assert document.sha256 in page
    assert "1 of 1 in the queue" in page


def test_the_page_names_another_reviewer_who_opened_the_document(
    reviewing, client, sent, ines, rafael
):
    document = sent(IN_REVIEW)
    reviewing.get(f"/admin/review/{document.pk}/")
    client.force_login(rafael)
    page = text(client.get(f"/admin/review/{document.pk}/"))
    assert "Inês Duarte opened this document" in page


def test_a_page_number_beyond_the_document_shows_the_nearest_page(reviewing, sent):
    url = f"/admin/review/{sent(IN_REVIEW).pk}/"
    assert "Page 2 of 2" in text(reviewing.get(url + "?page=99"))
    assert "Page 1 of 2" in text(reviewing.get(url + "?page=0"))
    assert "Page 1 of 2" in text(reviewing.get(url + "?page=x"))


@pytest.mark.requirement("R24")
@pytest.mark.parametrize(
    "given",
    [
        {"username": "ines", "password": "wrong"},
        {"username": "rafael", "password": "correct horse"},
        {"username": "ines"},
    ],
    ids=["wrong-password", "another-persons-name", "no-password"],
)
def test_a_signed_decision_needs_the_persons_own_name_and_password(
    reviewing,
    sent,
    rafael,
    given,
):
    document = sent(IN_REVIEW)
    answer = sign(reviewing, document, "release", reason=REASON, **given)
    assert answer.status_code == 400
    assert REASON in text(answer), "what was typed is kept"
    assert not Decision.objects.exists()


def test_an_administrator_cannot_sign_for_other_people(client, sent, ines):
    client.force_login(make_user("admin", is_staff=True, is_superuser=True))
    answer = sign(client, sent(IN_REVIEW), "release", reason=REASON, **SIGNED)
    assert answer.status_code == 403
    assert not Decision.objects.exists()


def test_a_signed_decision_leads_to_the_next_document(reviewing, sent):
    document, other = sent(IN_REVIEW), sent(IN_REVIEW, content=b"%PDF-1.7 other")
    answer = sign(reviewing, document, "release", reason=REASON, **SIGNED)
    assert answer.url == f"/admin/review/{other.pk}/"
    assert Document.objects.get(pk=document.pk).state == "ARCHIVED"
    answer = sign(reviewing, other, "release", fragment=True, reason=REASON, **SIGNED)
    assert (answer.status_code, answer.headers["X-Go-To"]) == (204, "/admin/review/")


def test_a_signature_shows_the_role_that_permits_it(reviewing, sent, ines):
    ines.groups.add(Group.objects.get(name="Operations"))
    document = sent(IN_REVIEW)
    sign(reviewing, document, "release", reason=REASON, **SIGNED)
    assert "Inês Duarte (QA lead), " in text(reviewing.get(f"/documents/{document.pk}/"))
    assert list_entries(document.subject)[-1].role == "QA lead"


def test_a_return_needs_a_note_and_no_password(reviewing, sent):
    document = sent(IN_REVIEW)
    form = text(reviewing.get(f"/admin/review/{document.pk}/sign/?action=return"))
    assert "exactly as you write it" in form
    assert "Password" not in form
    assert sign(reviewing, document, "return", reason_code="NOT_SIGNED").status_code == 400
    sign(reviewing, document, "return", reason_code="NOT_SIGNED", note=NOTE)
    assert Document.objects.get().state == "RETURNED"


@pytest.mark.parametrize("fragment", [True, False])
def test_the_second_reviewer_gets_a_409_with_the_entered_text(
    reviewing,
    sent,
    rafael,
    fragment,
):
    document = sent(IN_REVIEW)
    seen = decisions.get_version(document)
    decide(document, Action.RETURN, rafael)
    answer = sign(
        reviewing, document, "release", fragment=fragment, reason=REASON, made_on=seen, **SIGNED
    )
    page = text(answer)
    assert answer.status_code == 409
    assert "Already decided by Rafael Duarte" in page
    assert REASON in page
    assert ("<html" in page) is not fragment
    assert Decision.objects.count() == 1


def test_decisions_without_permission_are_refused(client, sent, rafael):
    client.force_login(rafael)
    document = sent(REJECTED)
    assert client.get(f"/admin/review/{document.pk}/sign/?action=override").status_code == 403
    assert client.get(f"/admin/review/{document.pk}/sign/?action=release").status_code == 403
    assert client.get(f"/admin/review/{document.pk}/sign/?action=bless").status_code == 404


@pytest.mark.requirement("R23")
def test_the_sender_of_a_document_cannot_decide_about_it(reviewing, sent, ines):
    document = sent(IN_REVIEW, user=ines)
    assert "Another reviewer must decide" in text(reviewing.get(f"/admin/review/{document.pk}/"))
    assert sign(reviewing, document, "release", reason=REASON, **SIGNED).status_code == 403


@pytest.mark.requirement("R25")
def test_a_site_sees_the_note_and_the_signer_but_not_the_reason(
    reviewing,
    client,
    sent,
    ines,
    mara,
):
    returned, overruled = sent(IN_REVIEW), sent(REJECTED, content=b"%PDF-1.7 unsigned")
    decide(returned, Action.RETURN, ines)
    decide(overruled, Action.OVERRIDE, ines)
    client.force_login(mara)
    page = text(client.get(f"/documents/{returned.pk}/"))
    assert NOTE in page
    page = text(client.get(f"/documents/{overruled.pk}/"))
    for part in (
        "Inês Duarte",
        "I approve it for filing",
        "QA reviewed this document and filed it.",
    ):
        assert part in page
    assert REASON not in page
    assert "is not signed" not in page


@pytest.mark.requirement("R26")
def test_a_changed_decision_is_shown_as_invalid(reviewing, sent, ines):
    document = sent(IN_REVIEW)
    decide(document, Action.RETURN, ines)
    Decision.objects.update(note="Never mind.")
    page = text(reviewing.get(f"/documents/{document.pk}/"))
    assert "INVALID" in page
    assert "Changed since it was signed: note." in page
    Decision.objects.update(note=NOTE)


def test_only_qa_sees_the_decisions_about_a_filed_document(
    reviewing,
    client,
    sent,
    mara,
):
    document, right = sent(FILED), make_site("0417")
    page = text(reviewing.get(f"/documents/{document.pk}/"))
    assert "Change the filed document" in page
    answer = sign(reviewing, document, "rehome", reason=REASON, site=right.pk, **SIGNED)
    assert answer.url == f"/documents/{document.pk}/"
    moved = right.documents.get()
    assert "Moved here from" in text(reviewing.get(f"/documents/{moved.pk}/"))
    client.force_login(mara)
    page = text(client.get(f"/documents/{document.pk}/"))
    assert "Moved to another site" in page
    assert "0417" not in page, "whose site is not that one"
    assert "Change the filed document" not in page


def test_a_superseding_version_is_linked_in_both_directions(reviewing, sent):
    old, new = sent(FILED), sent(FILED, content=b"%PDF-1.7 version 2")
    sign(reviewing, old, "supersede", reason=REASON, other=new.pk, **SIGNED)
    assert f"/documents/{new.pk}/" in text(reviewing.get(f"/documents/{old.pk}/"))
    assert "Replaces" in text(reviewing.get(f"/documents/{new.pk}/"))


def together(client, documents, **fields):
    keys = [document.pk for document in documents]
    return client.post("/admin/review/together/", {"document": keys, **fields}, follow=True)


def test_several_documents_are_assigned_at_once(reviewing, sent, ines):
    documents = [sent(IN_REVIEW), sent(IN_REVIEW, content=b"%PDF-1.7 other")]
    assert "2 documents are now assigned to you." in text(together(reviewing, documents, do="take"))
    assert "Select at least one document." in text(together(reviewing, [], do="take"))


def test_several_documents_with_one_reason_are_returned_with_one_note(
    reviewing,
    sent,
):
    doubtful = verdict("IN_REVIEW", RuleFinding("OCR_LOW_CONFIDENCE", 1, {"what": "the date"}))
    alike = [sent(IN_REVIEW), sent(IN_REVIEW, content=b"%PDF-1.7 other")]
    another = sent(doubtful, content=b"%PDF-1.7 third")
    refused = together(reviewing, [*alike, another], do="return")
    assert "Select documents that have the same reason." in text(refused)
    form = together(reviewing, alike, do="return")
    assert "Return 2 documents" in text(form)
    made_on = form.context["form"].initial["made_on"]
    decide(alike[1], Action.RELEASE, lead("helena", "Helena Vogt"))
    done = together(reviewing, alike, made_on=made_on, reason_code="OTHER", note=NOTE)
    assert "1 document was returned." in text(done)
    states = {document.pk: document.state for document in Document.objects.all()}
    assert states[alike[0].pk] == "RETURNED"
    assert states[alike[1].pk] == "ARCHIVED", "another reviewer decided first"


def test_the_timeline_shows_the_decisions_of_qa(reviewing, sent, ines):
    document = sent(REJECTED)
    decide(document, Action.OVERRIDE, ines)
    assert "Filed by QA decision" in text(reviewing.get(f"/documents/{document.pk}/"))
    assert list_entries(document.subject)[-1].event == "document.overridden"


@pytest.mark.requirement("R25")
def test_the_admin_lists_decisions_with_name_time_and_meaning(reviewing, sent, ines):
    decision = decide(sent(IN_REVIEW), Action.RELEASE, ines)
    listed = text(reviewing.get("/admin/ingestion/decision/"))
    page = text(reviewing.get(f"/admin/ingestion/decision/{decision.pk}/change/"))
    for content in (listed, page):
        assert "Inês Duarte" in content
        assert "I reviewed this document, and I approve it for filing." in content
    assert "The signed record has not changed." in page
    assert reviewing.post(f"/admin/ingestion/decision/{decision.pk}/change/").status_code == 403
