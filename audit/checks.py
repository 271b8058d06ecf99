"""A system check with an id for each setting of the ledger that can be wrong."""

from collections.abc import Callable, Iterator
from pathlib import Path
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
    for name in ("AUDIT_CHECKPOINT_ENTRIES", "AUDIT_CHECKPOINT_SECONDS", "ANCHOR_S3_YEARS"):
        if getattr(settings, name) < 1:
            yield Error(f"{name} has to be at least 1.", id="audit.E011")
    for name in ("ANCHOR_TIMEOUT_SECONDS", "AUDIT_CLOCK_SKEW_SECONDS"):
        if getattr(settings, name) <= 0:
            yield Error(f"{name} has to be more than 0.", id="audit.E011")


def _places() -> Iterator[CheckMessage]:
    folder = Path(settings.ANCHOR_DIR)
    if folder.exists() and not folder.is_dir():
        yield Error(f"ANCHOR_DIR={folder} is not a folder.", id="audit.E012")
    if settings.ANCHOR_S3_ENDPOINT and not _is_address(settings.ANCHOR_S3_ENDPOINT):
        yield Error(
            "ANCHOR_S3_ENDPOINT is not an address.",
            hint="Write https://minio.example.org, or leave it out for Amazon's.",
            id="audit.E013",
        )
    if settings.ANCHOR_TSA and not _is_address(settings.ANCHOR_TSA):
        yield Error(
            "ANCHOR_TSA is not an address.",
            hint="Write http://tsa.example.org, or leave it out.",
            id="audit.E014",
        )
    if settings.ANCHOR_TSA and not Path(settings.ANCHOR_TSA_CERTIFICATES).is_file():
        yield Error(
            f"ANCHOR_TSA_CERTIFICATES={settings.ANCHOR_TSA_CERTIFICATES} is not a file.",
            hint="Give a PEM file with the authority's root and the certificates below it.",
            id="audit.E015",
        )


def _is_address(text: str) -> bool:
    return text.startswith(("http://", "https://"))


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


_CHECKS: tuple[Callable[[], Iterator[CheckMessage]], ...] = (_origin, _policy, _places, _keys)
