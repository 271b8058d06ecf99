"""Records the edit checks that found errors in a form, when the form is returned to the person.

FDA's Q&A on electronic systems in clinical investigations, question 13 (R08). The line contains the
fields and the codes of their errors, and the detail contains the values that were sent.
"""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.forms import BaseForm, PasswordInput

from audit.ledger.actors import Actor
from audit.ledger.chain import MAX_FIELD
from audit.ledger.log import ledger, record

MAX_VALUE_CHARACTERS = 500  # of each value that is recorded


def record_form_errors(
    form: str,
    *,
    codes: Mapping[str, Sequence[str]],
    values: Mapping[str, Any],
    by: Actor,
    site: str = "",
) -> None:
    """Record that `form`, for example "packet" or "site", was returned, in its own transaction.

    `codes` contains the codes of the errors by field, and `values` the values that were sent.
    Forms have no rows, so each return is a subject of its own.
    """
    reason_code = " ".join(f"{field}:{code}" for field, found in codes.items() for code in found)
    sent = [
        {"field": field, "value": str(value)[:MAX_VALUE_CHARACTERS]}
        for field, value in values.items()
    ]
    with ledger():
        record(
            f"{form}.form_came_back",
            subject=f"form:{uuid.uuid4()}",
            by=by,
            site=site,
            reason_code=reason_code[:MAX_FIELD],
            detail={"typed": sent},
        )


def list_error_codes(form: BaseForm) -> dict[str, list[str]]:
    """Return the codes of a bound form's errors by field."""
    return {
        field.strip("_"): [error.code or "invalid" for error in errors]
        for field, errors in form.errors.as_data().items()
    }


def list_rejected_values(form: BaseForm) -> dict[str, Any]:
    """Return the values that were sent for the fields with errors, without passwords."""
    return {
        name: form[name].data
        for name in form.errors
        if name in form.fields and not isinstance(form.fields[name].widget, PasswordInput)
    }
