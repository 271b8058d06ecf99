"""Converts documents, sites and people to FHIR R4. `audit.export.fhir` converts entries.

Personal data is what the receiver needs to attribute records: printed names, and the number of the
licence of a principal investigator. Email addresses, the content of documents and the details of
entries are left out, as in the FHIR files of an export of the audit trail.
"""

from datetime import datetime
from typing import Any

from audit.ledger.log import write_time
from ingestion.core.states import DocumentState
from ingestion.models import Document
from sites.models import Site, User

_URN = "urn:siteledger"
IDENTIFIER_TYPE_LICENCE = {
    "coding": [{"system": "http://terminology.hl7.org/CodeSystem/v2-0203", "code": "MD"}]
}
_STATUS = {
    DocumentState.WITHDRAWN: "entered-in-error",
    DocumentState.RETURNED: "superseded",
    DocumentState.CANCELLED: "superseded",
}
# FHIR's composition status of each state. What workers or QA have not decided is preliminary.
_DOC_STATUS = {
    DocumentState.ARCHIVED: "final",
    DocumentState.DEDUPED: "final",
    DocumentState.DIVIDED: "final",
    DocumentState.WITHDRAWN: "entered-in-error",
}


def make_document_reference(
    document: Document, *, updated_at: datetime, media_type: str
) -> dict[str, Any]:
    """Return the DocumentReference of a document. `updated_at` is the time of its last entry."""
    state = DocumentState(document.state)
    resource: dict[str, Any] = {
        "resourceType": "DocumentReference",
        "id": f"document-{document.pk}",
        "meta": {"lastUpdated": write_time(updated_at)},
        "extension": [{"url": f"{_URN}:document-state", "valueCode": document.state}],
        "masterIdentifier": _identifier("document", document.subject),
        "identifier": [_identifier("doc-id", f"{document.site.site_id}/{document.doc_id}")],
        "status": _STATUS.get(state, "current"),
        "docStatus": _DOC_STATUS.get(state, "preliminary"),
        "date": write_time(document.received_at),
        "custodian": _reference("Organization", f"site-{document.site_id}"),
        "content": [{"attachment": _make_attachment(document, media_type)}],
    }
    if document.sha256:
        resource["identifier"].append(_identifier("sha256", document.sha256))
    if document.document_type:
        coding = {
            "system": f"{_URN}:document-type",
            "code": document.document_type,
            "display": str(document.type_name),
        }
        resource["type"] = {"coding": [coding]}
    if relations := _list_relations(document):
        resource["relatesTo"] = relations
    return resource


def _make_attachment(document: Document, media_type: str) -> dict[str, Any]:
    """Return the facts about the bytes. They are sent by the interface `/api/v1` only."""
    attachment: dict[str, Any] = {"contentType": media_type}
    if document.size is not None:
        attachment["size"] = document.size
    if document.filename:
        attachment["title"] = document.filename
    return attachment


def _list_relations(document: Document) -> list[dict[str, Any]]:
    """Return the document that this one replaces, and the file of which it is a part."""
    related = (("replaces", document.corrects_id), ("transforms", document.part_of_id))
    return [
        {"code": code, "target": _reference("DocumentReference", f"document-{key}")}
        for code, key in related
        if key
    ]


def make_organization(site: Site, *, updated_at: datetime) -> dict[str, Any]:
    """Return the Organization of a clinical site."""
    return {
        "resourceType": "Organization",
        "id": f"site-{site.pk}",
        "meta": {"lastUpdated": write_time(updated_at)},
        "identifier": [
            _identifier("site", site.site_id),
            _identifier("study", site.study.protocol_number),
        ],
        "active": True,
        "type": [{"text": "Clinical site"}],
        "name": site.name,
        "address": [{"country": site.country}],
    }


def make_practitioner_of_account(user: User, *, updated_at: datetime) -> dict[str, Any]:
    """Return the Practitioner of an account, to whom entries refer as their actor."""
    resource: dict[str, Any] = {
        "resourceType": "Practitioner",
        "id": f"user-{user.pk}",
        "meta": {"lastUpdated": write_time(updated_at)},
        "identifier": [_identifier("actor", user.actor_name)],
        "active": bool(user.is_active and user.has_access()),
    }
    if user.printed_name:
        resource["name"] = [{"text": user.printed_name}]
    return resource


def make_practitioner_of_site(site: Site, *, updated_at: datetime) -> dict[str, Any]:
    """Return the Practitioner of a site's principal investigator, who may have no account."""
    identifiers = [_identifier("investigator", site.site_id)]
    if site.investigator_licence:
        licence = {"type": IDENTIFIER_TYPE_LICENCE, "value": site.investigator_licence}
        identifiers.append(licence)
    return {
        "resourceType": "Practitioner",
        "id": f"investigator-{site.pk}",
        "meta": {"lastUpdated": write_time(updated_at)},
        "identifier": identifiers,
        "name": [{"text": site.investigator}],
    }


def _identifier(kind: str, value: str) -> dict[str, Any]:
    return {"system": f"{_URN}:{kind}", "value": value}


def _reference(resource: str, key: str) -> dict[str, Any]:
    return {"reference": f"{resource}/{key}"}
