"""Lists what a person lacks to upload or to sign (21 CFR 11.10(i) and (j), 11.100(b))."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


class Missing(StrEnum):
    """A code for what is missing, with a sentence that says what to do."""

    READ_ONLY = "read_only"
    TRAINING = "training"
    POLICY = "policy"
    IDENTITY = "identity"
    SUSPENDED = "suspended"
    SECOND_FACTOR = "second_factor"

    @property
    def sentence(self) -> str:
        """Return a sentence for the person about what is missing and how to obtain it."""
        return str(_SENTENCES[self])


_SENTENCES: Mapping[Missing, Promise] = {
    Missing.READ_ONLY: _("Auditors have read-only access. They cannot upload or sign documents."),
    Missing.TRAINING: _("Confirm on your account page that you have been trained."),
    Missing.POLICY: _(
        "Read the policy on electronic signatures, and accept it on your account page."
    ),
    Missing.IDENTITY: _(
        "An administrator who did not create your account must verify your identity before you "
        "can sign."
    ),
    Missing.SUSPENDED: _(
        "You cannot sign, because another person changed how you sign in. A second administrator "
        "must verify your identity again."
    ),
    Missing.SECOND_FACTOR: _(
        "Your role requires multi-factor authentication. Set it up on your account page."
    ),
}


def list_missing_for_upload(person: Any) -> list[Missing]:
    """Return what is missing before the person may upload; nothing if they may (R36)."""
    if person.is_auditor:
        return [Missing.READ_ONLY]
    return [] if person.training_acknowledged_at else [Missing.TRAINING]


def list_missing_for_signature(person: Any) -> list[Missing]:
    """Return what is missing before the person may sign; nothing if they may.

    Requirements: R21, R27, R36, R37.
    """
    if person.is_auditor:
        return [Missing.READ_ONLY]
    unmet = {
        Missing.TRAINING: not person.training_acknowledged_at,
        Missing.POLICY: not person.policy_acknowledged_at,
        Missing.IDENTITY: not person.identity_verified_at,
        Missing.SUSPENDED: bool(person.signing_suspended_at),
        Missing.SECOND_FACTOR: person.needs_second_factor and not person.second_factor_since,
    }
    return [missing for missing, is_unmet in unmet.items() if is_unmet]
