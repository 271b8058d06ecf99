"""Reads the header `Idempotency-Key`, with which a client repeats a submission safely.

A repeated submission with the same key is not registered a second time.
"""

import re
from typing import Any

from django.http import HttpRequest

from api.http import problems
from api.http.problems import Problem
from ingestion.intake.submission import Submission
from ingestion.models import BatchSource
from sites.models import ApiToken

_VISIBLE = r"[!#-\[\]-~]{1,128}"
# A string of RFC 9651, or the same without quotes, as many clients send it.
_KEY = re.compile(rf'("?)({_VISIBLE})\1').fullmatch
OPENAPI_PARAMETER: dict[str, Any] = {
    "in": "header",
    "name": "Idempotency-Key",
    "required": True,
    "description": "A key of your own for this submission. The same key returns the same batch.",
    "schema": {"type": "string", "pattern": f'^("{_VISIBLE}"|{_VISIBLE})$'},
}


def read_key(request: HttpRequest) -> str:
    """Return the key of the request, without quotes. Raises Problem 400 if there is none."""
    header = request.headers.get("Idempotency-Key", "").strip()
    if found := _KEY(header):
        return found[2]
    detail = (
        "Send an Idempotency-Key of 1 to 128 visible characters. Choose a new key for each "
        "submission, so that a repeated request does not register it twice."
    )
    raise Problem(400, detail, type_uri=problems.KEY_MISSING)


def qualify_key(token: ApiToken, key: str) -> str:
    """Return the key as it is stored: qualified by owner, so that keys of owners never collide."""
    return f"api:{token.owner}:{key}"


def make_submission(
    token: ApiToken, source: BatchSource, *, key: str, priority: int = 5, asks_for: str = ""
) -> Submission:
    """Return who submits and how; `priority` is 1 (most urgent) to 10."""
    return Submission(
        source,
        token.actor,
        user=token.user,
        priority=priority,
        idempotency_key=qualify_key(token, key),
        owner=token.owner,
        asks_for=asks_for,
    )
