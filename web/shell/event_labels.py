"""Labels the ledger's events, states and actors for pages."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from audit.ledger import actors
from audit.ledger.queries import Recorded
from ingestion.core.states import DocumentState
from ingestion.rules.finding_texts import format_sentences
from ingestion.rules.messages import MESSAGES
from sites.models import User
from web.shell.state_display import STATE_DISPLAYS, WORK_LABELS, StateDisplay, get_state_label

EVENTS: Mapping[str, str | Promise] = MappingProxyType(
    {
        "document.received": _("Received"),
        "document.checking": _("Checking started"),
        "document.filed": _("Filed"),
        "document.rejected": _("Rejected"),
        "document.already_on_file": _("Already on file"),
        "document.divided": _("Divided into documents"),
        "document.redacted": _("Participants' data redacted"),
        "document.rendition_made": _("Rendition made"),
        "document.set_aside": _("Set aside"),
        "document.sent_to_review": _("Sent to QA for review"),
        "document.held": _("Held by us"),
        "document.cancelled": _("Cancelled"),
        "document.fetch_failed": _("Download failed"),
        "document.tried_again": _("Back in the queue"),
        "document.tried_at_once": _("Retried immediately"),
        "chunk.released": _("Expired lease released"),
        "portal.source_changed": _("Source of documents changed"),
        "document.uploaded_instead": _("Uploaded by the site instead"),
        "document.downloaded": _("Downloaded"),
        "document.certified": _("Certified copy signed"),
        "document.deletion_refused": _("Deletion refused"),
        "packet.deletion_refused": _("Deletion of a packet refused"),
        "site.deletion_refused": _("Deletion of a site refused"),
        "study.deletion_refused": _("Deletion of a study refused"),
        "user.deletion_refused": _("Deletion of an account refused"),
        "entry.deletion_refused": _("Deletion of an entry refused"),
        "legalhold.created": _("Legal hold set"),
        "legalhold.changed": _("Legal hold lifted"),
        "document.viewed": _("Viewed"),
        "document.assigned": _("Assigned to a reviewer"),
        "document.review_asked": _("Review requested by the site"),
        "document.rejection_confirmed": _("Rejection confirmed by QA"),
        "document.returned": _("Returned to site"),
        "document.released": _("Released from review and filed"),
        "document.unsealed": _("Released from quarantine and filed"),
        "document.overridden": _("Filed by QA decision"),
        "document.superseded": _("Superseded by a newer version"),
        "document.withdrawn": _("Withdrawn"),
        "document.rehomed": _("Moved to another site"),
        "document.expires_soon": _("Expires soon"),
        "document.ran_out": _("Expired"),
        "document.corrected": _("Corrected file received"),
        "document.redeclared": _("Type or person corrected"),
        "document.replaced": _("Replaced by the site during review"),
        "document.guess_overruled": _("Sent with a different type than detected"),
        "packet.form_came_back": _("Upload form returned with errors"),
        "packet.receipt_downloaded": _("Receipt downloaded"),
        "mailbox.told": _("Notified by email"),
        "mailbox.switched_off": _("Email notifications switched off"),
        "mailbox.switched_on": _("Email notifications switched on"),
        "batch.submitted": _("Batch submitted"),
        "batch.completed": _("Batch completed"),
        "batch.failed": _("Batch failed"),
        "batch.cancel_requested": _("Batch cancellation requested"),
        "batch.cancelled": _("Batch cancelled"),
        "batch.retried": _("Batch retried"),
        "batch.pruned": _("Working data of the batch removed"),
        "job.requested": _("Background job requested"),
        "job.done": _("Background job done"),
        "job.failed": _("Background job failed"),
        "job.cancel_requested": _("Cancellation of a background job requested"),
        "job.cancelled": _("Background job cancelled"),
        "job.removed": _("Background job removed after its retention period"),
        "ledger.verified": _("Audit trail verified"),
        "ledger.exported": _("Audit trail exported"),
        "ledger.export_downloaded": _("Export of the audit trail downloaded"),
        "ledger.reviewed": _("Audit trail reviewed"),
        "ledger.key_created": _("Signing key created"),
        "ledger.key_rotated": _("Signing key rotated"),
        "ledger.detail_redacted": _("Detail redacted"),
        "backup.made": _("Backup created"),
        "backup.restored": _("Restored from backup"),
        "archive.file_changed": _("Changed file found in the archive"),
        "archive.file_missing": _("Missing file found in the archive"),
        "system.clock_skew": _("Clock difference detected"),
        "access.reviewed": _("Access reviewed"),
        "assessment.started": _("Assessment of the rules started"),
        "assessment.signed": _("Assessment of the rules signed"),
        "rules.compared": _("Rules compared on filed documents"),
        "model.trained": _("Model of document types trained"),
        "model.activated": _("Model of document types activated"),
        "model.rolled_back": _("Earlier model of document types activated"),
        "approval.approved": _("Request approved"),
        "approval.expired": _("Request expired"),
        "approval.refused": _("Request refused"),
        "approval.requested": _("Approval requested"),
        "approval.withdrawn": _("Request withdrawn"),
        "user.notified": _("Notified by email"),
        "signin.failed": _("Sign-in failed"),
        "signin.locked": _("Sign-in locked after failed attempts"),
        "user.locked": _("Account locked after wrong passwords or codes"),
        "user.pages_opened": _("Pages opened by an auditor"),
        "user.session_ended": _("Session expired"),
        "user.signed_in": _("Signed in"),
        "user.signed_out": _("Signed out"),
    }
)
# Labels of the verification modes, by the names that `audit` gives them.
MODES: Mapping[str, str | Promise] = MappingProxyType(
    {
        "incremental": _("New entries"),
        "since_anchor": _("Entries since the last anchored checkpoint"),
        "rolling": _("New entries and a part of the older entries"),
        "full": _("All entries"),
    }
)
# Labels of background jobs, by the names of their kinds.
_JOBS: Mapping[str, str | Promise] = MappingProxyType(
    {
        "export": _("Export of the audit trail"),
        "verify": _("Verification of the audit trail"),
        "verify_archive": _("Verification of the archive"),
        "assess_corpus": _("Assessment of a corpus"),
        "train_model": _("Training of a model"),
        "rejudge_filed": _("Report of a model on filed documents"),
        "backup": _("Backup"),
        "fhir_export": _("FHIR Bulk Data export"),
        "follow_locks": _("Update of locks in the archive"),
        "inert_renditions": _("Pictures of locked originals"),
    }
)
# Labels of events that exist for many kinds of records, such as "waiver.created".
_KINDS: Mapping[str, str | Promise] = MappingProxyType(
    {
        "apitoken": _("API token"),
        "fhirclient": _("FHIR client"),
        "group": _("Role"),
        "legalhold": _("Legal hold"),
        "password": _("Password"),
        "portal": _("Portal"),
        "requireddocument": _("Required document"),
        "site": _("Site"),
        "siterequirement": _("Requirement of a site"),
        "study": _("Study"),
        "user": _("Account"),
        "validityoverride": _("Validity override"),
        "waiver": _("Waiver"),
    }
)
_VERBS: Mapping[str, str | Promise] = MappingProxyType(
    {
        "created": _("{kind} created"),
        "changed": _("{kind} changed"),
        "deleted": _("{kind} deleted"),
        "recorded": _("{kind} recorded"),
        "deletion_refused": _("{kind}: deletion refused"),
        "form_came_back": _("{kind}: form returned with errors"),
    }
)
_SYSTEMS = MappingProxyType({"system:worker": "SiteLedger"})
_OTHER = StateDisplay("dash", "idle")  # for entries that do not change a state


def label_job(kind: str) -> str:
    """Return the label of a kind of background jobs, or its name if it has none."""
    return str(_JOBS.get(kind, kind))


def label_event(name: str) -> str:
    """Return the label of an event, for example "Site changed" for site.changed.

    An event without a label is shown by its name in words.
    """
    if name in EVENTS:
        return str(EVENTS[name])
    kind, _dot, verb = name.partition(".")
    if kind in _KINDS and verb in _VERBS:
        return str(_VERBS[verb]).format(kind=_KINDS[kind])
    return name.replace(".", " ").replace("_", " ").capitalize()


def label_state(name: str) -> str:
    """Return the label of the state of a document or a batch."""
    if name in list(DocumentState):
        return get_state_label(DocumentState(name))
    return str(WORK_LABELS.get(name, name))


def display_entry(entry: Recorded) -> StateDisplay:
    """Return the display of the state into which the entry moved a document."""
    is_move = entry.subject.startswith("document:") and entry.to_state in STATE_DISPLAYS
    return STATE_DISPLAYS[DocumentState(entry.to_state)] if is_move else _OTHER


def explain_code(entry: Recorded) -> str:
    """Return the sentence of the finding code of an entry; "" if its code is not a finding code."""
    if entry.code not in MESSAGES:
        return ""
    findings = (entry.detail or {}).get("findings", [])
    facts = [found["facts"] for found in findings if found["code"] == entry.code]
    return format_sentences(entry.code, facts[0] if facts else {}).what


def name_actors(identifiers: Iterable[str]) -> dict[str, str]:
    """Return the names of actors: of people, as `name_people` does, and of software."""
    identifiers = set(identifiers)
    names = name_people(identifiers)
    for actor in identifiers:
        if actor.startswith(actors.SYSTEM):
            without_process = actors.drop_process(actor)
            names[actor] = _SYSTEMS.get(without_process, without_process)
    return names


def name_people(identifiers: Iterable[str]) -> dict[str, str]:
    """Return the printed names of the actors who are people, by actor, with one query."""
    keys = {actor.removeprefix("user:") for actor in identifiers if actor.startswith("user:")}
    people = User.objects.filter(pk__in=[key for key in keys if key.isdecimal()])
    return {person.actor_name: str(person) for person in people}
