"""Draws the ten document types of a site activation packet.

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
        "protocol-signature-page": protocol_signature.draw_protocol_signature,
        "irb-approval": irb_approval.draw_irb_approval,
        "form-fda-1572": form_1572.draw_form_1572,
        "cv": cv.draw_cv,
        "medical-licence": credentials.draw_medical_licence,
        "gcp-certificate": credentials.draw_gcp_certificate,
        "lab-certification": laboratory.draw_laboratory_certification,
        "lab-normal-ranges": laboratory.draw_normal_ranges,
        "financial-disclosure": financial_disclosure.draw_financial_disclosure,
        "delegation-log": delegation_log.draw_delegation_log,
    }
)

PER_PERSON = frozenset({"cv", "medical-licence", "gcp-certificate", "financial-disclosure"})
FILLABLE = frozenset({"form-fda-1572", "financial-disclosure"})
EXPIRING = frozenset({"irb-approval", "medical-licence", "lab-certification"})
