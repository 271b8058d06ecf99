"""Tests of decisions of QA: state, entry and signature are written together, once."""

from dataclasses import replace

import pytest

from audit.ledger import redaction
from audit.ledger.actors import Actor
from audit.ledger.queries import list_entries
from audit.verification.verify import verify_ledger
from ingestion.core.file_parts import Division, DocumentPart, FilePart, PageExclusion, PageUse
from ingestion.documents import downloads
from ingestion.intake.declarations import Declaration
from ingestion.models import Action, Decision, Document, RowUnchangeable
from ingestion.review import assignments, decisions, review_requests, signature_payload
from ingestion.review.decision_rules import RULES, list_permitted_actions
from ingestion.review.decisions import (
    DecisionConflict,
    DecisionRefused,
)
from ingestion.rules.findings import RuleFinding
from tests.factories import make_site, verdict
from tests.ingestion.review.reviewers import HARMFUL, NOTE, REASON, decide, ruling, signature
from tests.web.scenes import (
    FILED,
    IN_REVIEW,
    READ,
    REJECTED,
    make_packet,
    settle,
)

pytestmark = pytest.mark.django_db


def state_of(document):
    return Document.objects.get(pk=document.pk).state


def last_entry(document):
    return list_entries(document.subject)[-1]


@pytest.mark.parametrize(
    ("verdict_", "action", "state", "event"),
    [
        (IN_REVIEW, Action.RETURN, "RETURNED", "document.returned"),
        (REJECTED, Action.RETURN, "RETURNED", "document.returned"),
        (IN_REVIEW, Action.CONFIRM, "REJECTED", "document.rejection_confirmed"),
        (REJECTED, Action.CONFIRM, "REJECTED", "document.rejection_confirmed"),
        (IN_REVIEW, Action.RELEASE, "ARCHIVED", "document.released"),
        (HARMFUL, Action.UNSEAL, "ARCHIVED", "document.unsealed"),
        (REJECTED, Action.OVERRIDE, "ARCHIVED", "document.overridden"),
        (FILED, Action.WITHDRAW, "WITHDRAWN", "document.withdrawn"),
    ],
    ids=[
        "doubt-returned",
        "rejection-returned",
        "doubt-confirmed",
        "rejection-confirmed",
        "released",
        "unsealed",
        "overridden",
        "withdrawn",
    ],
)
@pytest.mark.requirement("R16")
def test_a_decision_moves_the_document_and_is_recorded(sent, ines, verdict_, action, state, event):
    document = sent(verdict_)
    decision = decide(document, action, ines)
    assert state_of(document) == state
    entry = last_entry(document)
    assert (entry.event, entry.actor) == (event, ines.actor_name)
    assert entry.detail["meaning"] == RULES[action].meaning
    assert entry.occurred_at == decision.decided_at
    assert entry.sha256 == document.sha256
    assert signature_payload.find_changes(decision) == []


def test_a_site_reads_the_note_word_for_word(sent, rafael):
    document = sent(IN_REVIEW)
    decide(document, Action.RETURN, rafael, reason_code="NOT_SIGNED")
    document = Document.objects.get()
    assert document.code == "QA_REJECTED"
    assert [finding.facts for finding in document.current_findings] == [{"note": NOTE}]
    assert last_entry(document).reason_code == "NOT_SIGNED"


def test_a_confirmed_rejection_keeps_the_findings_for_the_site(sent, rafael):
    document = sent(REJECTED)
    decide(document, Action.CONFIRM, rafael)
    assert Document.objects.get().code == "SIGNATURE_MISSING"


@pytest.mark.requirement("R23")
def test_a_submitter_cannot_decide_about_their_own_document(sent, ines):
    document = sent(IN_REVIEW, user=ines)
    assert list_permitted_actions(ines, document) == []
    with pytest.raises(DecisionRefused, match="Another reviewer must decide"):
        decide(document, Action.RELEASE, ines)
    assert state_of(document) == "IN_REVIEW"


def test_overruling_a_finding_needs_the_second_permission(sent, rafael, ines):
    document = sent(REJECTED)
    assert Action.OVERRIDE not in list_permitted_actions(rafael, document)
    with pytest.raises(DecisionRefused):
        decide(document, Action.OVERRIDE, rafael)
    assert Action.OVERRIDE in list_permitted_actions(ines, document)


def test_a_rejection_under_review_is_overridden_and_not_released(sent, mara, ines):
    document = sent(REJECTED)
    asked = review_requests.request_review(document, "It is signed.", user=mara)
    document = Document.objects.get()
    assert Action.OVERRIDE in list_permitted_actions(ines, document)
    assert Action.RELEASE not in list_permitted_actions(ines, document)
    decide(document, Action.OVERRIDE, ines)
    asked.refresh_from_db()
    assert asked.answered_at is not None


def test_pictures_of_a_file_released_from_quarantine_are_visible_to_everyone(sent, ines):
    document = sent(HARMFUL)
    assert downloads.find_access(document) is downloads.FileAccess.NOTHING
    decide(document, Action.UNSEAL, ines)
    assert downloads.find_access(Document.objects.get()) is downloads.FileAccess.INERT


def test_the_second_of_two_reviewers_learns_about_the_first_decision(sent, ines, rafael):
    document = sent(IN_REVIEW)
    seen = decisions.get_version(document)
    first = decide(document, Action.RETURN, rafael, made_on=seen)
    with pytest.raises(DecisionConflict) as conflict:
        decide(document, Action.RELEASE, ines, made_on=seen)
    assert conflict.value.decision == first
    assert state_of(document) == "RETURNED"
    assert Decision.objects.count() == 1


def test_viewing_a_document_does_not_invalidate_an_open_form(sent, ines, rafael):
    document = sent(IN_REVIEW)
    seen = decisions.get_version(document)
    downloads.record_view(document, by=rafael.actor)
    decide(document, Action.RELEASE, ines, made_on=seen)


@pytest.mark.parametrize("action", [Action.RELEASE, Action.CONFIRM, Action.OVERRIDE])
@pytest.mark.requirement("R24")
def test_a_decision_has_to_be_signed(sent, ines, action):
    document = sent(REJECTED if action is Action.OVERRIDE else IN_REVIEW)
    unsigned = replace(signature(ines, action), meaning="")
    with pytest.raises(DecisionRefused, match="must sign this decision"):
        decide(document, action, ines, by=unsigned)


@pytest.mark.parametrize("is_signed", [True, False])
def test_a_return_is_signed_if_a_setting_requires_it(sent, rafael, settings, is_signed):
    settings.REVIEW_SIGN_RETURNS = is_signed
    document, unsigned = sent(IN_REVIEW), replace(signature(rafael), meaning="")
    if is_signed:
        with pytest.raises(DecisionRefused, match="must sign this decision"):
            decide(document, Action.RETURN, rafael, by=unsigned)
    else:
        decide(document, Action.RETURN, rafael, by=unsigned)


def test_a_file_that_is_on_file_cannot_be_filed_again(sent, ines):
    sent(FILED)
    document = sent(IN_REVIEW, content=b"%PDF-1.7 other")
    Document.objects.filter(pk=document.pk).update(sha256=Document.objects.earliest("pk").sha256)
    document.refresh_from_db()
    with pytest.raises(DecisionRefused, match="already on file for this site"):
        decide(document, Action.RELEASE, ines)


def test_a_document_without_a_file_in_the_archive_cannot_be_filed(sent, ines, settings, tmp_path):
    document = sent(IN_REVIEW)
    settings.ARCHIVE_DIR = tmp_path / "another"
    with pytest.raises(DecisionRefused, match="not in the archive"):
        decide(document, Action.RELEASE, ines)


def test_a_decision_needs_a_reason(sent, ines):
    with pytest.raises(DecisionRefused, match="Enter a reason"):
        decide(sent(IN_REVIEW), Action.RELEASE, ines, reason=" ")


@pytest.mark.sampled(3)
@pytest.mark.requirement("R26")
@pytest.mark.parametrize(
    ("column", "value", "named"),
    [("note", "Never mind.", "note"), ("reason_code", "OTHER", "reason_code")],
)
def test_a_changed_decision_differs_from_the_signed_one(
    sent, rafael, request, column, value, named
):
    decision = decide(sent(IN_REVIEW), Action.RETURN, rafael)
    before = getattr(decision, column)
    Decision.objects.filter(pk=decision.pk).update(**{column: value})
    decision.refresh_from_db()
    assert signature_payload.find_changes(decision) == [named]
    assert any("not as it was signed" in problem for problem in verify_ledger().problems)
    Decision.objects.filter(pk=decision.pk).update(**{column: before})


@pytest.mark.sampled(3)
@pytest.mark.requirement("R26")
@pytest.mark.parametrize(
    ("column", "named"),
    [("printed_name", "signer"), ("role", "role"), ("decided_by_id", "decided_by"),
     ("sha256", "sha256"), ("to_state", "to_state"), ("document_id", "signature")],
)  # fmt: skip
def test_verification_names_each_changed_column_of_a_decision(sent, rafael, ines, column, named):
    decision = decide(sent(IN_REVIEW), Action.RETURN, rafael)
    other = sent(IN_REVIEW, content=b"%PDF-1.7 other")
    forged = {"decided_by_id": ines.pk, "document_id": other.pk, "to_state": "ARCHIVED"}
    before = getattr(decision, column)
    Decision.objects.filter(pk=decision.pk).update(**{column: forged.get(column, "x")})
    problems = verify_ledger().problems
    Decision.objects.filter(pk=decision.pk).update(**{column: before})
    assert any("not as it was signed" in problem and named in problem for problem in problems), (
        problems
    )


@pytest.mark.requirement("R26")
def test_verification_names_inserted_and_deleted_decisions(sent, rafael):
    decision = decide(sent(IN_REVIEW), Action.RETURN, rafael)
    kept = Decision.objects.filter(pk=decision.pk).values().get()
    forged = Decision.objects.bulk_create([Decision(**kept | {"id": None})])
    assert any("not as it was signed: signature" in problem for problem in verify_ledger().problems)
    Decision.objects.filter(pk=forged[0].pk)._raw_delete("default")
    Decision.objects.filter(pk=decision.pk)._raw_delete("default")
    entry = last_entry(decision.document)
    (problem,) = verify_ledger().problems
    assert problem == (
        f"Decision {decision.pk} on {entry.subject} is in entry {entry.seq} of the ledger, but its "
        "row is missing."
    )
    Decision.objects.bulk_create([Decision(**kept)])


@pytest.mark.requirement("R26")
def test_a_decision_with_a_redacted_entry_is_reported_as_uncheckable(sent, rafael, ines):
    decision = decide(sent(IN_REVIEW), Action.RETURN, rafael)
    entry = last_entry(decision.document)
    redaction.redact_entry(
        entry.seq,
        reason="The note named a subject.",
        by=Actor("system:redact", "operations"),
        authorised_by=ines.actor_name,
    )
    verdict = verify_ledger()
    assert verdict.problems == ()
    assert (
        f"Decision {decision.pk} on {decision.document.subject} cannot be checked: the detail of "
        f"entry {entry.seq} is redacted."
    ) in verdict.notices
    assert signature_payload.find_changes(decision) == []
    Decision.objects.filter(pk=decision.pk).update(decided_by=ines)
    assert any("decided_by" in problem for problem in verify_ledger().problems)
    Decision.objects.filter(pk=decision.pk).update(decided_by=rafael)


@pytest.mark.requirement("R26")
def test_the_signature_covers_the_findings(sent, ines):
    document = sent(REJECTED)
    decision = decide(document, Action.OVERRIDE, ines)
    document.findings.update(page=1)
    assert signature_payload.find_changes(decision) == ["judged"]
    document.findings.update(page=2)


@pytest.mark.requirement("R26")
def test_the_signature_covers_the_bytes_in_the_archive(sent, ines, tmp_path):
    document = sent(IN_REVIEW)
    decision = decide(document, Action.RELEASE, ines)
    path = tmp_path / "archive" / document.sha256[:2] / document.sha256[2:4] / document.sha256
    path.chmod(0o600)
    path.write_bytes(b"%PDF-1.7 forged")
    assert signature_payload.find_changes(decision) == ["file"]
    path.unlink()
    assert signature_payload.find_changes(decision) == ["file"]


def test_decisions_are_added_and_never_changed(sent, rafael):
    decision = decide(sent(IN_REVIEW), Action.RETURN, rafael)
    with pytest.raises(RowUnchangeable):
        decision.save()
    with pytest.raises(RowUnchangeable):
        decision.delete()


def test_a_document_can_be_superseded_by_a_newer_version(sent, ines):
    old, new = sent(FILED), sent(FILED, content=b"%PDF-1.7 version 2")
    decision = decide(old, Action.SUPERSEDE, ines, other=new)
    assert (state_of(old), state_of(new)) == ("ARCHIVED", "ARCHIVED")
    assert list(new.decided_with.all()) == [decision]
    assert last_entry(old).detail["other"] == new.subject


def test_only_a_newer_version_on_file_supersedes(sent, ines):
    old, new = sent(FILED), sent(REJECTED, content=b"%PDF-1.7 version 2")
    for other in (new, old, None):
        with pytest.raises(DecisionRefused, match="newer document"):
            decide(old, Action.SUPERSEDE, ines, other=other)


def test_a_document_of_another_site_is_withdrawn_and_registered_there(sent, ines):
    document, right = sent(FILED), make_site("0417")
    decision = decide(document, Action.REHOME, ines, site=right)
    moved = decision.other
    assert state_of(document) == "WITHDRAWN"
    assert (moved.site, moved.state, moved.doc_id) == (right, "RECEIVED", document.doc_id)
    assert moved.expected_sha256 == document.sha256
    assert last_entry(document).detail["other"] == moved.subject


def test_a_moved_document_is_registered_once(sent, ines, rafael, monkeypatch):
    document, right = sent(FILED), make_site("0417")
    seen = decisions.get_version(document)
    with monkeypatch.context() as crash:
        crash.setattr(decisions, "_move_and_record", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            decide(document, Action.REHOME, ines, made_on=seen, site=right)
    decide(document, Action.REHOME, ines, made_on=seen, site=right)
    assert right.documents.count() == 1


def test_a_document_cannot_be_moved_to_its_own_site(sent, ines, site):
    with pytest.raises(DecisionRefused, match="Select the site"):
        decide(sent(FILED), Action.REHOME, ines, site=site)


WITH_CV = {"declared": Declaration("cv", "Ana Ruiz")}


def test_a_reviewer_corrects_type_and_person_and_the_checks_run_again(sent, rafael):
    document = sent(IN_REVIEW)
    assignments.assign(document, rafael, by=rafael)
    decision = decide(document, Action.REDECLARE, rafael, **WITH_CV)
    document = Document.objects.get()
    assert (document.state, document.doc_id) == ("RECEIVED", "cv.ana-ruiz")
    entry = last_entry(document)
    assert (entry.event, entry.actor) == ("document.redeclared", rafael.actor_name)
    assert entry.detail["meaning"] == RULES[Action.REDECLARE].meaning
    assert (entry.detail["name"], entry.detail["new_name"]) == ("irb-approval", "cv.ana-ruiz")
    assert entry.detail["reason"] == REASON
    assert signature_payload.find_changes(decision) == []
    settle(document.packet, IN_REVIEW)
    document = Document.objects.get()
    assert document.state == "IN_REVIEW"
    assert document.assignment.assigned_to == rafael, "the assignment to a reviewer is kept"
    assert signature_payload.find_changes(decision) == []


def test_two_corrections_keep_both_signatures(sent, rafael, ines):
    document = sent(REJECTED)
    decisions = [decide(document, Action.CONFIRM, rafael)]
    decisions.append(decide(Document.objects.get(), Action.REDECLARE, ines, **WITH_CV))
    settle(document.packet, IN_REVIEW)
    back = Declaration("irb-approval")
    decisions.append(decide(Document.objects.get(), Action.REDECLARE, ines, declared=back))
    for decision in Decision.objects.all():
        assert signature_payload.find_changes(decision) == []
    assert verify_ledger().intact
    assert [each.doc_id for each in decisions] == ["irb-approval", "irb-approval", "cv.ana-ruiz"]


@pytest.mark.requirement("R26")
@pytest.mark.parametrize("column", ["doc_id", "document_type", "new_doc_id", "new_document_type"])
def test_the_signature_covers_the_corrected_type_and_person(sent, ines, column):
    decision = decide(sent(IN_REVIEW), Action.REDECLARE, ines, **WITH_CV)
    before = getattr(decision, column)
    Decision.objects.update(**{column: "forged"})
    assert len(signature_payload.find_changes(Decision.objects.get())) == 1
    Decision.objects.update(**{column: before})


def test_a_correction_names_missing_input(sent, ines):
    document = sent(IN_REVIEW)
    for declared, why in (
        (None, "Select a document type"),
        (Declaration("cv"), "Enter the name of the person"),
        (Declaration("irb-approval"), "Neither has changed"),
    ):
        with pytest.raises(DecisionRefused, match=why):
            decide(document, Action.REDECLARE, ines, declared=declared)
    assert state_of(document) == "IN_REVIEW"


def test_a_decision_after_a_correction_is_a_conflict(sent, ines, rafael):
    document = sent(IN_REVIEW)
    seen = decisions.get_version(document)
    first = decide(document, Action.REDECLARE, rafael, **WITH_CV)
    settle(document.packet, IN_REVIEW)
    with pytest.raises(DecisionConflict) as conflict:
        decide(document, Action.RELEASE, ines, made_on=seen)
    assert conflict.value.decision == first


def test_a_document_rejected_after_a_correction_is_listed_again(sent, ines):
    document = sent(REJECTED)
    decide(document, Action.REDECLARE, ines, **WITH_CV)
    settle(document.packet, REJECTED)
    assert list(assignments.filter_queue(assignments.QueueFilter(rejected=True))) == [document]


def test_every_action_leads_to_a_permitted_state():
    for rule in RULES.values():
        for source in rule.sources:
            assert rule.target in {None, source} or source.can_become(rule.target)


def test_an_administrator_signs_under_their_own_name(sent, ines):
    document = sent(IN_REVIEW)
    decide(document, Action.RELEASE, ines)
    assert last_entry(document).detail["printed_name"] == "Inês Duarte"


def test_uncertain_findings_need_no_second_permission(sent, rafael):
    document = sent(
        verdict("IN_REVIEW", RuleFinding("OCR_LOW_CONFIDENCE", 1, {"what": "the date"}))
    )
    assert Action.RELEASE in list_permitted_actions(rafael, document)
    assert ruling(Action.RELEASE).reason == REASON


SEVERAL = verdict("IN_REVIEW", RuleFinding("MULTIPLE_DOCUMENTS", 2, {"documents": "..."}))
TWO = Division(
    (DocumentPart(FilePart(1, 1), "cv"),),
    (PageExclusion(FilePart(2, 2), PageUse.SET_ASIDE, "a fax cover sheet"),),
)


@pytest.mark.requirement("R16")
def test_a_reviewer_divides_a_file_and_the_signature_covers_the_division(sent, rafael):
    document = sent(SEVERAL)
    assert list_permitted_actions(rafael, document)[0] is Action.DIVIDE
    decision = decide(document, Action.DIVIDE, rafael, division=TWO)
    assert state_of(document) == "DIVIDED"
    entry = last_entry(document)
    assert (entry.event, entry.actor) == ("document.divided", rafael.actor_name)
    assert entry.detail["page_account"]["decided_by"] == "person"
    (part,) = document.parts.all()
    assert (part.document_type, part.first_page, part.last_page) == ("cv", 1, 1)
    (page,) = document.excluded_pages.all()
    assert (page.page, page.use, page.reason) == (2, "set_aside", "a fax cover sheet")
    assert signature_payload.find_changes(decision) == []
    changed = Division(TWO.parts, (replace(TWO.excluded[0], reason="another reason"),))
    Decision.objects.filter(pk=decision.pk).update(division=changed.as_json())
    try:
        assert signature_payload.find_changes(Decision.objects.get()) == ["division"]
    finally:
        Decision.objects.filter(pk=decision.pk).update(division=TWO.as_json())


@pytest.mark.parametrize(
    ("division", "sentence"),
    [
        (None, "Enter the documents"),
        (Division(TWO.parts), "Page 2 belongs to no document"),
        (
            Division(TWO.parts, (replace(TWO.excluded[0], reason=" "),)),
            "Enter a reason for each page",
        ),
        (Division((DocumentPart(FilePart(1, 2)),)), "nothing to divide"),
    ],
)
def test_a_division_that_leaves_a_page_unexplained_is_refused(sent, rafael, division, sentence):
    document = sent(SEVERAL)
    with pytest.raises(DecisionRefused, match=sentence):
        decide(document, Action.DIVIDE, rafael, division=division)
    assert state_of(document) == "IN_REVIEW"
    assert not Decision.objects.exists()


def test_a_signed_file_and_one_with_harmful_content_are_never_divided(sent, site, rafael, mara):
    signed = replace(READ, flags=frozenset({"digital-signature"}))
    packet = make_packet(site, mara, SEVERAL, reading=signed)
    for document in (packet.documents.get(), sent(HARMFUL)):
        assert Action.DIVIDE not in list_permitted_actions(rafael, document)
        with pytest.raises(DecisionRefused, match="cannot make this decision"):
            decide(document, Action.DIVIDE, rafael, division=TWO)
