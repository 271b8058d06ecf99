"""Refuses portals whose address a second person has not approved, for sources of every kind."""

from ingestion.core.errors import AddressNotApproved
from ingestion.core.ports import PortalTerms
from sites.portal_origin import parse_origin


def require_approved_origin(terms: PortalTerms) -> None:
    """Raise AddressNotApproved if the origin of a portal's address is not the approved one.

    Call this before anything is sent to a portal, so that no other host receives its secret.
    """
    if parse_origin(terms.base_url) != terms.approved_origin:
        raise AddressNotApproved(
            f"the address {terms.base_url} of portal {terms.key} is not approved: a second "
            "person has to approve it (/approvals/)",
            portal=terms.key,
            address=terms.base_url,
        )
