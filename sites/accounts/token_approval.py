"""A token that acts for a site, or for another person, works once an administrator approves it."""

from django.utils import timezone
from django.utils.translation import gettext

from sites import approvals
from sites.approvals import ApprovalRule, Kind, NotDecided
from sites.models import ApiToken, User
from sites.models.approval_requests import ApprovalRequest


def needs_approval(token: ApiToken, maker: User) -> bool:
    """Every token but one's own."""
    return token.user_id != maker.pk


def ask(token: ApiToken, *, by: User, reason: str = "") -> ApprovalRequest:
    """Ask for a token that has just been made. Inside `ledger()`."""
    owner = f"site {token.site.site_id}" if token.site else f"{token.user}"
    return approvals.ask(
        Kind.API_TOKEN,
        about=token.subject,
        subject_name=f"{token}, for {owner}",
        site=token.site.site_id if token.site else "",
        by=by,
        reason=reason,
        proposed={
            "for": owner,
            "scopes": sorted(token.scopes),
            "expires_at": f"{token.expires_at:%Y-%m-%d}",
        },
    )


def _approve(request: ApprovalRequest, by: User) -> None:
    token = ApiToken.lock(request.about_key)
    if token.revoked_at:
        raise NotDecided(gettext("This token has been revoked. Refuse the request."))
    token.approved_at = timezone.now()
    token.save(update_fields=["approved_at"])
    change = {"old": None, "new": str(token.approved_at)}
    token.record(
        "apitoken.changed",
        by=by.actor,
        site=request.site,
        detail={
            "object": str(token),
            "changes": {"approved_at": change},
            **approvals.entry_facts(request),
        },
    )


def register() -> None:
    approvals.register(
        Kind.API_TOKEN, ApprovalRule(may_decide=approvals.is_administrator, apply=_approve)
    )
