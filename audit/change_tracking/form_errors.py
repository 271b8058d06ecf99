"""Edit checks that fired: a form came back to its person (FDA's Q&A on systems, 13; R08).

The line has the fields and the codes of what is wrong with them. What was typed is in the detail.
"""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.forms import BaseForm, PasswordInput

from audit.ledger.actors import Actor
from audit.ledger.chain import MAX_FIELD
from audit.ledger.log import ledger, record

_KEPT = 500  # characters of each typed value


def record_form_errors(
    form: str,
    *,
    wrong: Mapping[str, Sequence[str]],
    typed: Mapping[str, Any],
    by: Actor,
    site: str = "",
) -> None:
    """Enter that `form` ("packet", "site") was not taken. In a transaction of its own.

    `wrong` has the codes by field. A form is drawn anew each time, so each return is a subject of
    its own.
    """
    codes = " ".join(f"{field}:{code}" for field, found in wrong.items() for code in found)
    with ledger():
        record(
            f"{form}.form_came_back",
            subject=f"form:{uuid.uuid4()}",
            by=by,
            site=site,
            reason_code=codes[:MAX_FIELD],
            detail={"typed": [_as_sent(field, value) for field, value in typed.items()]},
        )


def _as_sent(field: str, value: Any) -> dict[str, str]:
    return {"field": field, "value": str(value)[:_KEPT]}


def error_codes(form: BaseForm) -> dict[str, list[str]]:
    """The codes of a bound form's errors, by field."""
    return {
        field.strip("_"): [error.code or "invalid" for error in errors]
        for field, errors in form.errors.as_data().items()
    }


def rejected_values(form: BaseForm) -> dict[str, Any]:
    """What was sent for the fields that are wrong, but never a password."""
    return {
        name: form[name].data
        for name in form.errors
        if name in form.fields and not isinstance(form.fields[name].widget, PasswordInput)
    }
