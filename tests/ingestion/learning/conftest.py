"""Defines fixtures: sites with documents whose types QA corrected, and a QA lead."""

import pytest

from ingestion.intake.declarations import Declaration
from ingestion.models import Action
from tests.factories import make_site, make_user, verdict
from tests.ingestion.learning.house_documents import HEADINGS, house_pdf
from tests.ingestion.review.conftest import *  # noqa: F403 - its fixtures
from tests.ingestion.review.reviewers import decide, sender


@pytest.fixture
def corrected(db, ines, tmp_path):
    """Return a function: documents of a site, the types of which a QA lead corrected."""

    def correct(number, documents=4, coordinator=""):
        site = make_site(number)
        name = f"coordinator-{number}"
        person = make_user(name, sites=(site,), printed_name=coordinator)
        send = sender(site, person, tmp_path)
        found = []
        for each in range(documents):
            kind = list(HEADINGS)[each % len(HEADINGS)]
            document = send(verdict("IN_REVIEW"), house_pdf(kind, f"{number}-{each}"))
            decide(document, Action.REDECLARE, ines, declared=Declaration(kind))
            document.refresh_from_db()
            found.append(document)
        return found

    return correct
