"""Requires a second person's approval for the address of a portal, its exceptions and its use.

The portal's secret is bound to the approved origin (`Portal.approved_origin`). The downloader sends
no request to a portal whose base address has another origin. The portal that it is a mirror of is
approved too, because documents of that portal are then accepted from it.
"""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from sites import approvals
from sites.approvals import ApprovalRule, Kind, NotDecided
from sites.models import Portal, Site, User
from sites.models.approval_requests import ApprovalRequest
from sites.portal_origin import parse_origin

GUARDED_FIELDS = ("base_url", "allow_http", "allow_private_hosts", "mirror_of_id")
_CHANGE_PORTALS = "clinical_sites.change_portal"


def request_change(
    portal: Portal, proposed: Mapping[str, Any], *, by: User, reason: str = ""
) -> ApprovalRequest:
    """Request new values of the guarded fields. Call this inside `ledger()`."""
    return approvals.create_request(
        Kind.PORTAL_ADDRESS,
        about=portal.subject,
        subject_name=f"Portal {portal}",
        site=get_site_of_portal(portal),
        by=by,
        reason=reason,
        proposed={**proposed, "approved_origin": parse_origin(proposed["base_url"])},
        current={name: getattr(portal, name) for name in (*GUARDED_FIELDS, "approved_origin")},
    )


def get_site_of_portal(portal: Portal) -> str:
    """Return the number of the portal's site, or "" if it has several sites or none."""
    numbers = list(Site.objects.filter(portal=portal).values_list("site_id", flat=True)[:2])
    return numbers[0] if len(numbers) == 1 else ""


def open_request(portal: Portal) -> ApprovalRequest | None:
    """Return the open request for the portal's address, or None."""
    return ApprovalRequest.objects.open().about(Kind.PORTAL_ADDRESS, portal.subject).first()


def _may_decide(person: User) -> bool:
    return person.is_staff and not person.is_auditor and person.has_perm(_CHANGE_PORTALS)


def _apply(request: ApprovalRequest, by: User) -> None:
    portal = Portal.objects.select_for_update().filter(pk=request.about_key).first()
    if portal is None:
        raise NotDecided(_("This portal no longer exists. Refuse the request."))
    if any(getattr(portal, name) != value for name, value in request.current.items()):
        raise NotDecided(
            _(
                "The portal has changed since this request was made. Refuse the request, and "
                "change the portal again."
            )
        )
    changes = {
        name: {"old": str(old), "new": str(new)}
        for name, old, new in approvals.iter_differences(request)
        if old != new
    }
    for name, value in request.proposed.items():
        setattr(portal, name, value)
    portal.save(update_fields=list(request.proposed))
    portal.record(
        "portal.changed",
        by=by.actor,
        site=request.site,
        detail={"object": str(portal), "changes": changes, **approvals.get_approval_facts(request)},
    )


def register_approval_rule() -> None:
    """Register the rule for addresses of portals. Called once, when the app is ready."""
    approvals.register_rule(Kind.PORTAL_ADDRESS, ApprovalRule(may_decide=_may_decide, apply=_apply))
