"""Defines the tables of people, programs, studies, sites, portals and legal holds."""

from sites.models.api_tokens import TOKEN_LIFE, ApiToken, TokenScope, in_a_year
from sites.models.approval_requests import ApprovalRequest
from sites.models.fhir_clients import FhirClient
from sites.models.legal_holds import LegalHold
from sites.models.portals import Portal
from sites.models.studies import Membership, Site, Study
from sites.models.usage_counters import PageViews, Tries
from sites.models.users import FailedSignIns, User, make_visibility_filter

__all__ = [
    "TOKEN_LIFE",
    "ApiToken",
    "ApprovalRequest",
    "FailedSignIns",
    "FhirClient",
    "LegalHold",
    "Membership",
    "PageViews",
    "Portal",
    "Site",
    "Study",
    "TokenScope",
    "Tries",
    "User",
    "in_a_year",
    "make_visibility_filter",
]
