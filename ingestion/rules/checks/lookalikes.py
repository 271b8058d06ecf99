"""Names documents of no supported type that sites send in the place of one, for findings.

The result affects only the wording of a finding. It never decides about a document.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from audit.translation import gettext_noop as _
from ingestion.reading.results import DocumentReading
from ingestion.rules import fuzzy_phrases

HEADING_LINES = 14  # lines of the first page that contain its title
MAX_TITLE_CHARACTERS = 90  # of a line that may be a title
MIN_INSTRUCTIONS = 4  # questions or instructions of a form, which a letter does not have


@dataclass(frozen=True, slots=True)
class Lookalike:
    """A kind of document with the phrases of its titles.

    `instructions` are phrases of its text; at least MIN_INSTRUCTIONS of them stand for a title.
    """

    noun: str
    titles: tuple[str, ...]
    instructions: tuple[str, ...] = ()


LOOKALIKES = (
    Lookalike(
        _("participant information sheet"),
        (
            "participant information sheet",
            "participant information leaflet",
            "participant information statement",
            "patient information sheet",
            "information sheet for participants",
            "subject information sheet",
        ),
    ),
    Lookalike(_("debriefing sheet for participants"), ("debriefing", "debrief")),
    Lookalike(
        _("application to an ethics committee"),
        (
            "application for ethical approval",
            "application for ethics approval",
            "application for ethical review",
            "ethics application",
            "ethical approval application",
            "ethics approval application",
            "ethics review application",
            "IRB application",
            "IRB protocol application",
            "application for IRB review",
            "application for initial review",
            "research ethics application",
            "ethics approval form",
            "ethics self-assessment",
            "request for exempt determination",
        ),
        (
            "please describe",
            "please explain",
            "please attach",
            "please specify",
            "if yes",
            "check all that apply",
            "tick all that apply",
            "will participants",
            "will you be",
            "do you intend",
            "describe the",
            "describe how",
            "ethics committee",
            "institutional review board",
            "IRB",
        ),
    ),
)


def find_lookalike(reading: DocumentReading) -> str:
    """Return what a document is in the words of a sentence, or "" if it is none of the known."""
    return next(_matching(reading), "")


def _matching(reading: DocumentReading) -> Iterator[str]:
    if not reading.pages:
        return
    lines = [line for line in reading.pages[0].text.splitlines() if line.strip()][:HEADING_LINES]
    titles = [line for line in lines if len(line) <= MAX_TITLE_CHARACTERS]
    heading = "\n".join(titles)
    for kind in LOOKALIKES:
        possible = [each for each in kind.titles if fuzzy_phrases.may_contain_phrase(heading, each)]
        if any(fuzzy_phrases.contains_phrase(line, title) for line in titles for title in possible):
            yield kind.noun
    text = reading.text
    for kind in LOOKALIKES:
        found = (each for each in kind.instructions if fuzzy_phrases.contains_phrase(text, each))
        if len(list(islice(found, MIN_INSTRUCTIONS))) == MIN_INSTRUCTIONS:
            yield kind.noun
