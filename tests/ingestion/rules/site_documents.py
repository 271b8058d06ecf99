"""The documents of one site, which agree with one another. A test changes some of them."""

from ingestion.core.states import DocumentState
from ingestion.rules.fields.values import FieldValue
from ingestion.rules.site_file.requirements import SiteDocument

PI, SUB = "Margaret Whitfield", "Jonas Weber"
LAB, IRB = "Cedar Ridge Core Laboratory", "Cedar Ridge Institutional Review Board"
FILED = DocumentState.ARCHIVED
VALUES = {
    "protocol-signature-page": {
        "investigator": PI, "protocol_number": "SLX-301", "protocol_version": "3.0",
    },
    "irb-approval": {
        "investigator": f"Dr. {PI}", "irb_name": IRB, "protocol_number": "SLX-301",
        "protocol_version": "v3.0",
        "approved_documents": "Document Version Date; Protocol SLX-301 3.0 02-Mar-2026;"
        " Informed Consent Form, site 4001 2.0 09-Apr-2026",
    },
    "form-fda-1572": {
        "investigator": f"{PI}, MD", "subinvestigators": f"{SUB}, MD",
        "labs": f"{LAB}, CLIA 36D9900101; Department of Laboratory Medicine; 12 Main Street",
        "irb": "Cedar Ridge IRB (IRB99000101); 12 Main Street, Springfield",
        "protocol_number": "SLX-301",
    },
    "cv": {"person": PI},
    "medical-licence": {"person": "Whitfield, Margaret"},
    "gcp-certificate": {"person": "M. Whitfield"},
    "lab-certification": {"lab_name": LAB},
    "lab-normal-ranges": {"lab_name": LAB.upper()},
    "financial-disclosure": {"investigator": PI, "protocol_number": "SLX-301"},
    "informed-consent-form": {"protocol_number": "SLX-301", "version": "v2"},
    "delegation-log": {"investigator": PI, "persons": f"{PI}; {SUB}; Ana Ruiz"},
}  # fmt: skip
OF_SUB = {
    "cv": {"person": SUB},
    "gcp-certificate": {"person": SUB},
    "financial-disclosure": {"investigator": SUB},
}


def site_document(kind, key=1, *, confidence=100.0, state=FILED, values=None, **rest):
    read = tuple(
        FieldValue(name, value, 1, "native", confidence) for name, value in (values or {}).items()
    )
    return SiteDocument(key, kind, DocumentState(state), read, **rest)


def make_site_documents(changes=None, *, without=(), with_sub=True):
    """Return the documents. `changes` has other values of a type, or a document to replace it."""
    documents, changes = [], changes or {}
    sets = [VALUES, OF_SUB] if with_sub else [VALUES]
    for own in sets:
        for kind, values in own.items():
            if kind in without:
                continue
            change = changes.get(kind, {}) if own is VALUES else {}
            made = change if isinstance(change, SiteDocument) else None
            documents.append(
                made or site_document(kind, len(documents) + 1, values={**values, **change})
            )
    return documents
