"""`Idempotency-Key`: a submission is repeated without harm, and nobody meets another's key."""

import re
from typing import Any

from django.http import HttpRequest

from api import problems
from api.problems import Problem
from ingestion.intake.submission import Submission
from ingestion.models import BatchSource
from sites.models import ApiToken

_VISIBLE = r"[!#-\[\]-~]{1,128}"
# A string of RFC 9651, or the same without its quotes, as many clients send it.
_KEY = re.compile(rf'("?)({_VISIBLE})\1').fullmatch
DESCRIBED: dict[str, Any] = {
    "in": "header",
    "name": "Idempotency-Key",
    "required": True,
    "description": "Yours for this submission: the same key gives the same batch.",
    "schema": {"type": "string", "pattern": f'^("{_VISIBLE}"|{_VISIBLE})$'},
}


def sent_key(request: HttpRequest) -> str:
    header = request.headers.get("Idempotency-Key", "").strip()
    if found := _KEY(header):
        return found[2]
    detail = (
        "Send an Idempotency-Key of 1 to 128 visible characters: yours for this submission, "
        "so that repeating it cannot register anything twice."
    )
    raise Problem(400, detail, kind=problems.KEY_MISSING)


def of_owner(token: ApiToken, key: str) -> str:
    """As the register keeps it: one site can neither see nor take another's key."""
    return f"api:{token.owner}:{key}"


def submission(
    token: ApiToken, source: BatchSource, *, key: str, priority: int = 5, asks_for: str = ""
) -> Submission:
    return Submission(
        source,
        token.actor,
        token.role,
        user=token.user,
        priority=priority,
        idempotency_key=of_owner(token, key),
        owner=token.owner,
        asks_for=asks_for,
    )
