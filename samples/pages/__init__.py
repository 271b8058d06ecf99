"""The ten document types of a site activation packet.

Each page function takes `DocumentFacts` and returns the bytes of a born-digital PDF.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from samples.document_facts import DocumentFacts
from samples.pages import (
    credentials,
    cv,
    delegation_log,
    financial_disclosure,
    form_1572,
    irb_approval,
    laboratory,
    protocol_signature,
)

PAGES: Mapping[str, Callable[[DocumentFacts], bytes]] = MappingProxyType(
    {
        "protocol-signature-page": protocol_signature.page,
        "irb-approval": irb_approval.page,
        "form-fda-1572": form_1572.page,
        "cv": cv.page,
        "medical-licence": credentials.medical_licence,
        "gcp-certificate": credentials.gcp_certificate,
        "lab-certification": laboratory.certification,
        "lab-normal-ranges": laboratory.normal_ranges,
        "financial-disclosure": financial_disclosure.page,
        "delegation-log": delegation_log.page,
    }
)

PER_PERSON = frozenset({"cv", "medical-licence", "gcp-certificate", "financial-disclosure"})
FILLABLE = frozenset({"form-fda-1572", "financial-disclosure"})
EXPIRING = frozenset({"irb-approval", "medical-licence", "lab-certification"})
