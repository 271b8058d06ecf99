"""Activates a model of document types, or goes back to an earlier one, with a signature.

An activation is a row that is added, and an entry with the signature, in one transaction. Documents
that are decided from then on name the model in the version of their rules. Documents that were
decided before keep their decision.
"""

from collections.abc import Iterator
from typing import Any

from django.db import IntegrityError
from django.utils.translation import gettext as _

from audit import electronic_signatures
from audit.electronic_signatures import ElectronicSignature
from audit.ledger import queries
from audit.ledger.log import ledger, normalize_text, write_time
from audit.ledger.queries import Recorded
from audit.verification.single_entry_check import compare_with_entries
from ingestion.documents.active_model import find_active_model
from ingestion.learning.training import TRAINED
from ingestion.models import LearnedModel, ModelActivation
from ingestion.rules.document_types import RULES_VERSION
from sites.models import User

ACTIVATED, ROLLED_BACK = "model.activated", "model.rolled_back"
PERMISSION = "ingestion.activate_learnedmodel"
ACTIVATION_MEANING = "I reviewed how this model judges documents, and I activate it."
ROLLBACK_MEANING = "I stop the use of the active model, and I activate the earlier one."
ROW_KEY = "row_values"  # in the detail of an entry: the values of the row


class ActivationRefused(Exception):
    """The activation was not made. The message is a sentence for the user."""


def get_version() -> int:
    """Return the number of the last activation, or 0. It changes with every activation."""
    last = ModelActivation.last()
    return last.number if last else 0


def list_earlier_models() -> list[LearnedModel | None]:
    """Return the models that were active before the active one, the last one first.

    None is the built-in model, which was active before the first activation.
    """
    rows = ModelActivation.objects.select_related("model").order_by("-number")
    active = find_active_model()
    earlier = dict.fromkeys(row.model for row in rows if row.model != active)
    if active is not None:
        earlier.setdefault(None)
    return list(earlier)


def activate(
    model: LearnedModel | None,
    *,
    reason: str,
    expected_version: int,
    user: User,
    by: ElectronicSignature,
) -> ModelActivation:
    """Activate a model, or with None the built-in model.

    `expected_version` is what `get_version` returned when the person saw the page. Going back to a
    model that was active before is recorded as a rollback. Raises ActivationRefused.
    """
    if not user.has_perm(PERMISSION):
        raise ActivationRefused(_("You may not activate models of document types."))
    if not by.meaning:
        raise ActivationRefused(_("You must sign this decision."))
    try:
        with ledger():
            before = ModelActivation.last()
            replaced = before.model if before else None
            if (before.number if before else 0) != expected_version:
                raise ActivationRefused(
                    _("Another model has been activated since you opened the page.")
                )
            if model == replaced:
                raise ActivationRefused(_("This model is already active."))
            is_rollback = model in list_earlier_models()
            row: ModelActivation = ModelActivation.objects.create(
                number=expected_version + 1,
                model=model,
                is_rollback=is_rollback,
                reason=reason.strip(),
                activated_by=user,
                printed_name=by.printed_name,
                role=by.signer.role,
                meaning=by.meaning,
                activated_at=by.at,
            )
            # The entry is one of the model that a rollback stops, or of the one that begins.
            subject = replaced if is_rollback and replaced is not None else model
            if subject is None:
                raise ActivationRefused(_("The built-in model is already active."))
            _record(row, subject, replaced, by)
    except IntegrityError as error:
        raise ActivationRefused(
            _("Another model has been activated since you opened the page.")
        ) from error
    return row


def _record(
    row: ModelActivation,
    subject: LearnedModel,
    replaced: LearnedModel | None,
    by: ElectronicSignature,
) -> None:
    facts = {
        "activation": row.number,
        "model": row.model.subject if row.model else "",
        "replaces": replaced.subject if replaced else "",
        "trained_rules": row.model.rules_version if row.model else RULES_VERSION,
        "reason": row.reason,
    }
    sha256 = row.model.sha256 if row.model else ""
    subject.record(
        ROLLED_BACK if row.is_rollback else ACTIVATED,
        by=by.signer,
        sha256=sha256,
        rules=RULES_VERSION,
        occurred_at=by.at,
        detail={**by.sign(facts, sha256=sha256), ROW_KEY: _row_values(row)},
    )


def verify_models(_since: int = 0) -> Iterator[str]:
    """Yield a sentence for each model or activation that differs from its entry, or lacks it.

    This is a check of `audit.verification.verify`.
    """
    models = {row.subject: row for row in LearnedModel.objects.defer("comparison")}
    yield from compare_with_entries(
        models,
        [TRAINED],
        lambda model, entry: model.has_content(entry.sha256),
        _("{subject} is not as it was trained."),
    )
    rows = {row.activated_at: row for row in ModelActivation.objects.select_related("model")}
    for entry in queries.iter_entries_of_events([ACTIVATED, ROLLED_BACK]):
        row = rows.pop(entry.occurred_at, None)
        if row is None or not _is_as_signed(row, entry):
            sentence = _("An activation of {model}, in entry {seq}, is not as it was signed.")
            yield sentence.format(model=entry.subject, seq=f"{entry.seq:,}")
    for row in rows.values():
        yield _("Activation {number} of a model has no entry.").format(number=row.number)


def _is_as_signed(row: ModelActivation, entry: Recorded) -> bool:
    """Return whether a row is as in its entry. A redacted detail leaves its line to compare."""
    sha256 = row.model.sha256 if row.model else ""
    event = ROLLED_BACK if row.is_rollback else ACTIVATED
    if (entry.sha256, entry.event) != (sha256, event):
        return False
    if entry.is_redacted:
        return True
    detail = entry.detail or {}
    at = write_time(entry.occurred_at)
    is_intact = electronic_signatures.is_signature_intact(detail, sha256, at)
    return is_intact and detail.get(ROW_KEY) == normalize_text(_row_values(row))


def _row_values(row: ModelActivation) -> dict[str, Any]:
    return {
        "number": row.number,
        "model": row.model_id or 0,
        "is_rollback": row.is_rollback,
        "reason": row.reason,
        "activated_by": row.activated_by_id,
        "printed_name": row.printed_name,
        "activated_at": write_time(row.activated_at),
    }
