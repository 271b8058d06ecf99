"""What the ledger's events and actors are called on pages. What is not named here shows as is."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from audit.ledger import actors
from audit.ledger.queries import Recorded
from ingestion.core.states import BatchState, DocumentState
from ingestion.rules.finding_texts import sentences
from ingestion.rules.messages import COPY
from sites.models import User
from web.shell.state_display import LOOKS, Look

EVENTS: Mapping[str, str] = MappingProxyType(
    {
        "document.received": "Received",
        "document.checking": "Checking started",
        "document.filed": "Filed",
        "document.rejected": "Rejected",
        "document.already_on_file": "Already on file",
        "document.sent_to_review": "Sent to QA for review",
        "document.held": "Held by us",
        "document.cancelled": "Cancelled",
        "document.fetch_failed": "Not to be had from the portal this time",
        "document.tried_again": "Back in the queue",
        "document.tried_at_once": "Tried again without waiting",
        "chunk.released": "Lease of a silent worker released",
        "document.downloaded": "Downloaded",
        "document.certified": "Certified copy signed",
        "document.deletion_refused": "Deleting it was refused",
        "packet.deletion_refused": "Deleting a packet was refused",
        "site.deletion_refused": "Deleting a site was refused",
        "study.deletion_refused": "Deleting a study was refused",
        "user.deletion_refused": "Deleting a person was refused",
        "entry.deletion_refused": "Deleting an entry was refused",
        "legalhold.created": "Legal hold set",
        "legalhold.changed": "Legal hold lifted",
        "document.viewed": "Looked at",
        "document.assigned": "Given to a reviewer",
        "document.review_asked": "Review asked for by the site",
        "document.rejection_confirmed": "Rejection confirmed by QA",
        "document.returned": "Returned to the site",
        "document.released": "Released from review and filed",
        "document.unsealed": "Released from quarantine and filed",
        "document.overridden": "Filed by decision of QA",
        "document.superseded": "Superseded by a newer version",
        "document.withdrawn": "Withdrawn",
        "document.rehomed": "Moved to another site",
        "document.expires_soon": "Runs out soon",
        "document.ran_out": "Ran out",
        "document.corrected": "A corrected file was sent",
        "document.redeclared": "Type or person corrected",
        "document.replaced": "Replaced by its site while in review",
        "document.guess_overruled": "Sent as another type than it looked like",
        "packet.form_came_back": "Upload form came back with something to put right",
        "packet.receipt_downloaded": "Receipt downloaded",
        "mailbox.told": "Told by mail",
        "mailbox.switched_off": "Mail switched off",
        "mailbox.switched_on": "Mail switched on",
        "batch.submitted": "Batch submitted",
        "batch.completed": "Batch completed",
        "batch.failed": "Batch given up",
        "batch.cancel_requested": "Cancelling asked for",
        "batch.cancelled": "Batch cancelled",
        "batch.pruned": "Batch's working rows removed",
        "ledger.verified": "Audit trail checked",
        "ledger.exported": "Audit trail exported",
        "ledger.reviewed": "Audit trail reviewed",
        "ledger.key_created": "Signing key created",
        "ledger.key_rotated": "Signing key changed",
        "ledger.detail_redacted": "Detail taken out",
        "backup.made": "Backup made",
        "backup.restored": "Brought back from a backup",
        "access.reviewed": "Accounts reviewed",
        "approval.approved": "Request approved",
        "approval.expired": "Request expired",
        "approval.refused": "Request refused",
        "approval.requested": "Approval requested",
        "approval.withdrawn": "Request withdrawn",
        "user.notified": "Notified by email",
        "signin.failed": "Sign-in failed",
        "signin.locked": "Sign-in locked after failures",
        "user.locked": "Locked after wrong passwords or codes",
        "user.pages_opened": "Pages opened by an auditor",
        "user.session_ended": "Session ended by itself",
        "user.signed_in": "Signed in",
        "user.signed_out": "Signed out",
    }
)
# What a check read, and the places that keep checkpoints, by the names that `audit` has for them.
MODES: Mapping[str, str] = MappingProxyType(
    {
        "incremental": "What was new",
        "since_anchor": "What was new since the last anchor",
        "rolling": "What was new, and a part again",
        "full": "Everything",
    }
)
ANCHORS: Mapping[str, str] = MappingProxyType(
    {
        "file": "the folder of anchors",
        "s3": "the S3 bucket",
        "rfc3161": "the time stamp authority's answers",
    }
)
_SYSTEMS = MappingProxyType({"system:worker": "SiteLedger"})
_OTHER = Look("dash", "idle")  # what moves nothing
_STATES = {state.value: state.word for state in DocumentState} | {
    state.value: state.replace("_", " ").capitalize() for state in BatchState
}


def event(name: str) -> str:
    """As in "Site changed" for site.changed."""
    return EVENTS.get(name) or name.replace(".", " ").replace("_", " ").capitalize()


def state(name: str) -> str:
    return _STATES.get(name, name)


def look(entry: Recorded) -> Look:
    known = entry.subject.startswith("document:") and entry.to_state in LOOKS
    return LOOKS[DocumentState(entry.to_state)] if known else _OTHER


def meaning(entry: Recorded) -> str:
    """The sentence of its code, with what was found; "" where the code is not a finding's."""
    if entry.code not in COPY:
        return ""
    findings = (entry.detail or {}).get("findings", [])
    facts = [found["facts"] for found in findings if found["code"] == entry.code]
    return sentences(entry.code, facts[0] if facts else {}).what


def names(among: Iterable[str]) -> dict[str, str]:
    """What these actors are called: people by their printed names, in one query."""
    among = set(among)
    ours = {actor: actors.in_short(actor) for actor in among if actor.startswith(actors.SYSTEM)}
    return {actor: _SYSTEMS.get(short, short) for actor, short in ours.items()} | people(among)


def people(among: Iterable[str]) -> dict[str, str]:
    """Printed names of those of these actors who are people, in one query."""
    keys = {actor.removeprefix("user:") for actor in among if actor.startswith("user:")}
    found = User.objects.filter(pk__in=[key for key in keys if key.isdecimal()])
    return {person.actor: str(person) for person in found}
