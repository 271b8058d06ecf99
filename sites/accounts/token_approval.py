"""A token that acts for a site, or for another person, works once an administrator approves it."""

from django.utils import timezone

from audit.ledger.log import record
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
        subject=subject_of(token),
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


def subject_of(token: ApiToken) -> str:
    return f"apitoken:{token.pk}"


def _approve(request: ApprovalRequest, by: User) -> None:
    token = ApiToken.objects.select_for_update(of=("self",)).get(pk=request.subject_key)
    if token.revoked_at:
        raise NotDecided("This token has been revoked. Refuse the request.")
    token.approved_at = timezone.now()
    token.revision += 1
    token.save(update_fields=["approved_at", "revision"])
    change = {"old": None, "new": str(token.approved_at)}
    record(
        "apitoken.changed",
        subject=request.subject,
        n=token.revision,
        site=request.site,
        actor=by.actor,
        role=by.role,
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
