"""Describes what the sender declared about a document, beside its type."""

from collections.abc import Mapping

from django.utils.translation import gettext

from ingestion.models import Document
from ingestion.reading.languages import NAMES


def describe_declared_facts(document: Document) -> Mapping[str, str]:
    """Return the declared facts by name, as pages show them. Undeclared facts are left out."""
    facts = document.declared_facts
    if language := facts.get("language"):
        facts["language"] = gettext(NAMES.get(language, language))
    return facts
