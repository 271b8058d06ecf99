"""A system check with an id for each setting of the ledger that can be wrong."""

from collections.abc import Callable, Iterator
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning  # noqa: A004 - Django's name

from audit.signing import anchors, keys
from audit.signing.keys import KeyProblem
from audit.signing.signed_note import BadNote, Verifier


def check_settings(**_options: Any) -> list[CheckMessage]:
    return [message for check in _CHECKS for message in check()]


def check_deployment(**_options: Any) -> list[CheckMessage]:
    """For `check --deploy`: whether anything outside could vouch for the ledger. Resolves names."""
    weaknesses = [place.weakness() for place in anchors.configured_anchors()]
    if not all(weaknesses):
        return []
    return [
        Warning(
            "No independent anchor is configured: the audit trail stands only by this "
            f"installation's own word, and verify_audit ends with 3. {' '.join(weaknesses)}",
            hint="Set ANCHOR_S3_BUCKET to a bucket with Object Lock that other people administer; "
            "see docs/operations.md, How strong a verification is.",
            id="audit.W011",
        )
    ]


def _origin() -> Iterator[CheckMessage]:
    try:
        Verifier(settings.AUDIT_ORIGIN, b"")
    except BadNote as error:
        yield Error(
            f"AUDIT_ORIGIN: {error}.",
            hint="Write ledger.example.org/study-1; without it AUDIT_TRAIL is taken.",
            id="audit.E010",
        )


def _policy() -> Iterator[CheckMessage]:
    for name in ("AUDIT_CHECKPOINT_ENTRIES", "AUDIT_CHECKPOINT_SECONDS"):
        if getattr(settings, name) < 1:
            yield Error(f"{name} has to be at least 1.", id="audit.E011")
    for name in ("ANCHOR_TIMEOUT_SECONDS", "AUDIT_CLOCK_SKEW_SECONDS"):
        if getattr(settings, name) <= 0:
            yield Error(f"{name} has to be more than 0.", id="audit.E011")


def _anchors() -> Iterator[CheckMessage]:
    for kind in anchors.ANCHOR_KINDS:
        yield from kind.check_settings()


def _keys() -> Iterator[CheckMessage]:
    try:
        if not keys.published_keys() and not settings.DEBUG:
            yield Warning(
                "The ledger has no key: nothing is signed, and a cut end shows nowhere.",
                hint="Run `manage.py audit_keys create` on the host of the workers.",
                id="audit.W010",
            )
        if keys.has_private_key():
            keys.load_key(keys.private_file())
    except KeyProblem as error:
        yield Error(str(error), id="audit.E016")


_CHECKS: tuple[Callable[[], Iterator[CheckMessage]], ...] = (_origin, _policy, _anchors, _keys)
