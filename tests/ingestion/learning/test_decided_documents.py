"""Tests which documents are examples, and on which side of a comparison their sites are."""

from ingestion.intake.declarations import Declaration
from ingestion.learning.decided_documents import count_decisions_since, find_decided_documents
from ingestion.learning.sites_apart import keep_sites_apart
from ingestion.models import Action, Document
from tests.factories import verdict
from tests.ingestion.review.reviewers import decide

IN_REVIEW = verdict("IN_REVIEW")


def types():
    return {each.document.pk: each.type for each in find_decided_documents()}


def test_a_released_document_confirms_its_type_and_a_correction_states_another(sent, ines):
    released, corrected = sent(IN_REVIEW, b"%PDF one"), sent(IN_REVIEW, b"%PDF two")
    decide(released, Action.RELEASE, ines)
    decide(corrected, Action.REDECLARE, ines, declared=Declaration("note-to-file"))
    assert types() == {released.pk: released.document_type, corrected.pk: "note-to-file"}
    known = [each.decision for each in find_decided_documents()]
    assert (count_decisions_since(()), count_decisions_since(known[-1:])) == (2, 1)


def test_a_rejection_a_return_and_a_withdrawal_state_no_type(sent, ines):
    for number, action in enumerate((Action.CONFIRM, Action.RETURN)):
        decide(sent(IN_REVIEW, b"%%PDF %d" % number), action, ines)
    withdrawn = sent(IN_REVIEW, b"%PDF withdrawn")
    decide(withdrawn, Action.RELEASE, ines)
    assert list(types()) == [withdrawn.pk]
    withdrawn.refresh_from_db()
    decide(withdrawn, Action.WITHDRAW, ines)
    assert types() == {}


def test_a_replaced_file_is_no_example(sent, ines):
    document = sent(IN_REVIEW)
    decide(document, Action.RELEASE, ines)
    Document.objects.filter(pk=document.pk).update(sha256="0" * 64)
    assert types() == {}
    Document.objects.filter(pk=document.pk).update(sha256=document.sha256)


def test_the_same_bytes_with_two_types_are_no_example(sent, ines):
    first = sent(IN_REVIEW, b"%PDF same")
    decide(first, Action.REDECLARE, ines, declared=Declaration("note-to-file"))
    second = sent(IN_REVIEW, b"%PDF same")
    decide(second, Action.REDECLARE, ines, declared=Declaration("note-to-file"))
    assert types() == {second.pk: "note-to-file"}
    third = sent(IN_REVIEW, b"%PDF same")
    decide(third, Action.REDECLARE, ines, declared=Declaration("training-log"))
    assert types() == {}


def test_all_documents_of_a_site_are_on_one_side_and_stay_there():
    documents = [f"{number:04}" for number in range(10) for _ in range(5)]
    sides = keep_sites_apart(documents)
    assert sides.training | sides.test == set(documents)
    assert not sides.training & sides.test
    assert 0.2 <= len(sides.test) / 10 <= 0.4
    more = keep_sites_apart(
        [*documents, *(["9999"] * 40)], training=sides.training, test=sides.test
    )
    assert more.training >= sides.training
    assert more.test >= sides.test
    assert "9999" in more.training | more.test


def test_nothing_is_tested_with_the_documents_of_one_site():
    assert keep_sites_apart(["0001"] * 50).test == set()
    assert len(keep_sites_apart(["0001"] * 50 + ["0002"]).test) == 1
