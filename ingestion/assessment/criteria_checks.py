"""Checks the setting ASSESSMENT_CRITERIA. The message has an id and says how to correct it."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from ingestion.assessment.truth import Criteria, TruthError


@register
def check_criteria(**options: Any) -> list[CheckMessage]:
    """Return a message if a criterion is unknown or out of range."""
    try:
        Criteria.parse(settings.ASSESSMENT_CRITERIA)
    except TruthError as error:
        return [
            Error(
                f"ASSESSMENT_CRITERIA: {error}.",
                hint="Write NAME=VALUE, with commas between; docs/assessment.md lists the names.",
                id="ingestion.E019",
            )
        ]
    return []
