"""Checks the settings of the ledger. Each message has an ID."""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning  # noqa: A004 - Django's name

from audit.signing import anchors, keys
from audit.signing.keys import KeyProblem
from audit.signing.signed_note import BadNote, Verifier


def check_settings(**_options: Any) -> list[CheckMessage]:
    """Return the messages of all checks that need no network."""
    checks = (_check_origin, _check_limits, _check_anchors, _check_keys)
    return [message for check in checks for message in check()]


def check_deployment(**_options: Any) -> list[CheckMessage]:
    """Warn if no anchor is independent of this installation. Runs with `check --deploy` only.

    It resolves host names.
    """
    weaknesses = [place.weakness() for place in anchors.list_configured_anchors()]
    if not all(weaknesses):
        return []
    return [
        Warning(
            "No independent anchor is configured. Only this installation itself confirms the "
            f"audit trail, and verify_audit ends with exit code 3. {' '.join(weaknesses)}",
            hint="Set ANCHOR_S3_BUCKET to a bucket with Object Lock that other people administer; "
            "see docs/operations.md, How strong a verification is.",
            id="audit.W011",
        )
    ]


def _check_origin() -> Iterator[CheckMessage]:
    try:
        Verifier(settings.AUDIT_ORIGIN, b"")
    except BadNote as error:
        yield Error(
            f"AUDIT_ORIGIN: {error}.",
            hint="Set it to a name such as ledger.example.org/study-1. The default is AUDIT_TRAIL.",
            id="audit.E010",
        )


def _check_limits() -> Iterator[CheckMessage]:
    for name in ("AUDIT_CHECKPOINT_ENTRIES", "AUDIT_CHECKPOINT_SECONDS"):
        if getattr(settings, name) < 1:
            yield Error(f"{name} must be at least 1.", id="audit.E011")
    for name in ("ANCHOR_TIMEOUT_SECONDS", "AUDIT_CLOCK_SKEW_SECONDS"):
        if getattr(settings, name) <= 0:
            yield Error(f"{name} must be greater than 0.", id="audit.E011")


def _check_anchors() -> Iterator[CheckMessage]:
    for kind in anchors.ANCHOR_KINDS:
        yield from kind.check_settings()


def _check_keys() -> Iterator[CheckMessage]:
    try:
        if not keys.read_published_keys() and not settings.DEBUG:
            yield Warning(
                "The ledger has no key. Nothing is signed, and a removed end is not detected.",
                hint="Run `manage.py audit_keys create` on the host of the workers.",
                id="audit.W010",
            )
        if keys.has_private_key():
            keys.load_key(keys.get_private_file())
    except KeyProblem as error:
        yield Error(str(error), id="audit.E016")
