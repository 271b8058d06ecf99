"""Creates reviewers and their decisions for tests."""

from django.contrib.auth.models import Group

from audit.electronic_signatures import ElectronicSignature
from ingestion.models import Action
from ingestion.review import decisions
from ingestion.review.decision_rules import RULES, is_note_for_site
from ingestion.review.decisions import DecisionInput
from ingestion.rules.findings import RuleFinding
from ingestion.storage.archive import get_archive
from tests.factories import make_user, verdict
from tests.web.scenes import make_packet

NOTE = "Ask the chair to sign page 2, and send the whole letter again."
REASON = "The chair confirmed it by mail today."
HARMFUL = verdict("IN_REVIEW", RuleFinding("ACTIVE_CONTENT", facts={"kinds": "scripts"}))


def reviewer(name, printed_name, group="QA reviewers"):
    person = make_user(name, is_staff=True, printed_name=printed_name)
    person.groups.add(Group.objects.get(name=group))
    return person


def lead(name, printed_name):
    """Return a QA lead, who has the second permission."""
    return reviewer(name, printed_name, "QA leads")


def sender(site, user, folder):
    """Return a function that submits a document of this person, with its bytes in the archive."""

    def send(decided, content=b"%PDF-1.7 the approval", user=user):
        document = make_packet(site, user, decided, content=content).documents.get()
        (folder / "incoming").write_bytes(content)
        get_archive().put(folder / "incoming", document.sha256)
        return document

    return send


def signature(person, action=Action.RETURN):
    return ElectronicSignature(person.actor, str(person), RULES[action].meaning)


def ruling(action, state="IN_REVIEW", **given):
    text = {"note": NOTE} if is_note_for_site(action, state) else {"reason": REASON}
    return DecisionInput(action=action, **text | given)


def decide(document, action, person, *, made_on="", by=None, **given):
    """Decide about a document as the review page does."""
    return decisions.decide(
        document,
        ruling(action, document.state, **given),
        expected_version=made_on or decisions.get_version(document),
        user=person,
        by=by or signature(person, action),
    )
