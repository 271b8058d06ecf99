"""Requires an administrator's approval for a token of a site or of another person."""

from django.utils import timezone
from django.utils.translation import gettext as _

from sites import approvals
from sites.approvals import ApprovalRule, Kind, NotDecided
from sites.models import ApiToken, User
from sites.models.approval_requests import ApprovalRequest


def needs_approval(token: ApiToken, maker: User) -> bool:
    """Return whether the token is not for its maker."""
    return token.user_id != maker.pk


def request_approval(token: ApiToken, *, by: User, reason: str = "") -> ApprovalRequest:
    """Request the approval of a new token. Call this inside `ledger()`."""
    owner = f"site {token.site.site_id}" if token.site else f"{token.user}"
    return approvals.create_request(
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
        raise NotDecided(_("This token has been revoked. Refuse the request."))
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
            **approvals.get_approval_facts(request),
        },
    )


def register_approval_rule() -> None:
    """Register the rule for requests of tokens. Called once, when the app is ready."""
    approvals.register_rule(
        Kind.API_TOKEN, ApprovalRule(may_decide=approvals.is_administrator, apply=_approve)
    )
