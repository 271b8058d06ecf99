"""Converts entries to FHIR R4: an AuditEvent for each, a Provenance for each filed document.

FHIR has no element for a hash chain. The proof of an entry, including its line, is therefore in
`entity.detail`, so that the receiver can verify it, too.
"""

import base64
from typing import Any

import orjson

from audit.export.trail import LedgerLine
from audit.ledger.actors import SYSTEM

LIFECYCLE = "http://terminology.hl7.org/CodeSystem/iso-21089-lifecycle"
ARCHIVED = "ARCHIVED"
_URN = "urn:siteledger"

# Fields of an entry that are details of its subject.
_DETAILS = ("doc_id", "sha256", "from", "to", "correlation_id", "reason_code", "detail_commit")
# The last word of an event: the code of ISO 21089, and the action code of FHIR.
_VERBS = {
    "received": ("receive", "C"),
    "created": ("originate", "C"),
    "checking": ("verify", "E"),
    "filed": ("archive", "U"),
    "already_on_file": ("link", "U"),
    "divided": ("transform", "U"),
    "sent_to_review": ("hold", "U"),
    "held": ("hold", "U"),
    "changed": ("amend", "U"),
    "deleted": ("destroy", "D"),
    "detail_redacted": ("destroy", "D"),
    "withdrawn": ("deprecate", "U"),
    "certified": ("attest", "E"),
    "downloaded": ("disclose", "R"),
    "viewed": ("access", "R"),
    "exported": ("report", "R"),
}


def make_audit_event(line: LedgerLine) -> bytes:
    """Return the AuditEvent of an entry as JSON."""
    fields = line.fields
    verb = fields["event"].rpartition(".")[2]
    agent: dict[str, Any] = {
        "who": _reference("actor", fields["actor"]),
        # Only a person requests an action; software acts on a request.
        "requestor": not fields["actor"].startswith(SYSTEM),
    }
    if fields["role"]:
        agent["role"] = [{"text": fields["role"]}]
    source: dict[str, Any] = {"observer": _reference("trail", fields["trail"])}
    if fields["site"]:
        source["site"] = fields["site"]
    subject: dict[str, Any] = {"what": _reference("subject", fields["subject"])}
    if detail := [{"type": name, "valueString": fields[name]} for name in _DETAILS if fields[name]]:
        subject["detail"] = detail
    type_, action = _VERBS.get(verb, ("amend", "U") if fields["to"] else ("access", "E"))
    event = {
        "resourceType": "AuditEvent",
        "id": line.hash,
        "type": {"system": LIFECYCLE, "code": type_},
        "subtype": [{"system": f"{_URN}:event", "code": fields["event"]}],
        "action": action,
        "recorded": fields["recorded_at"],
        "outcome": "4" if fields["code"] else "0",
        "agent": [agent],
        "source": source,
        "entity": [subject, _proof(line)],
    }
    if fields["code"]:
        event["outcomeDesc"] = fields["code"]
    # FHIR requires this order; the clocks of two machines can differ.
    if fields["occurred_at"] <= fields["recorded_at"]:
        event["period"] = {"start": fields["occurred_at"], "end": fields["recorded_at"]}
    return orjson.dumps(event)


def make_provenance(line: LedgerLine) -> bytes:
    """Return the Provenance of a filed document: the source of its bytes, who filed it and when."""
    fields = line.fields
    return orjson.dumps(
        {
            "resourceType": "Provenance",
            "id": line.hash,
            "target": [_reference("document", f"{fields['site']}/{fields['doc_id']}")],
            "occurredDateTime": fields["occurred_at"],
            "recorded": fields["recorded_at"],
            "activity": {"coding": [{"system": LIFECYCLE, "code": "archive"}]},
            "agent": [{"who": _reference("actor", fields["actor"])}],
            "entity": [{"role": "source", "what": _reference("sha256", fields["sha256"])}],
        }
    )


def is_filed(line: LedgerLine) -> bool:
    """Return whether the entry filed a document."""
    return bool(line.fields["to"] == ARCHIVED and line.fields["doc_id"] and line.fields["sha256"])


def _proof(line: LedgerLine) -> dict[str, Any]:
    """Return the entity that proves an entry: its place in the chain, and its line."""
    values = {"seq": str(line.seq), "prev": line.fields["prev"], "hash": line.hash}
    text = base64.b64encode(line.text.encode()).decode()
    detail = [{"type": name, "valueString": value} for name, value in values.items()]
    return {
        "what": _reference("entry", f"{line.fields['trail']}/{line.seq}"),
        "detail": [*detail, {"type": "line", "valueBase64Binary": text}],
    }


def _reference(kind: str, value: str) -> dict[str, Any]:
    return {"identifier": {"system": f"{_URN}:{kind}", "value": value}}
