"""Checks what was sent: its version, its file name, its type, and whether it is final."""

from collections.abc import Iterator
from pathlib import PurePath

from audit.translation import gettext_noop as _
from ingestion.reading.languages import NAMES, UNKNOWN
from ingestion.reading.results import SUFFIXES, DocumentReading, MediaType
from ingestion.rules import fuzzy_phrases
from ingestion.rules.checks import lookalikes
from ingestion.rules.checks.check_input import CheckInput, SenderFacts
from ingestion.rules.classification.classify import Classification, TypeMatch
from ingestion.rules.document_language import identify_document, identify_page
from ingestion.rules.document_types import TYPES
from ingestion.rules.findings import Facts, RuleFinding

SCHEMA_VERSIONS = ("v2.0", "v2.1")  # versions of a submission, the latest last
_MEDIA_TYPE_NOUNS = {
    MediaType.PDF: _("a PDF"),
    MediaType.JPEG: _("a JPEG image"),
    MediaType.PNG: _("a PNG image"),
    MediaType.TIFF: _("a TIFF image"),
    MediaType.WEBP: _("a WebP image"),
    MediaType.HEIC: _("a HEIC image"),
    MediaType.DOCX: _("a Word document"),
    MediaType.ODT: _("an OpenDocument file"),
    MediaType.RTF: _("a rich text document"),
    MediaType.ZIP: _("a ZIP archive"),
    MediaType.EML: _("an email message"),
    MediaType.MSG: _("an email message"),
}


def check_submission(reading: DocumentReading, sent: SenderFacts) -> Iterator[RuleFinding]:
    """Yield a finding for an unknown submission version, or a wrong file name extension."""
    if sent.schema_version not in SCHEMA_VERSIONS:
        facts = {"supported": ", ".join(SCHEMA_VERSIONS), "latest": SCHEMA_VERSIONS[-1]}
        yield RuleFinding("SCHEMA_MISMATCH", facts={"schema_version": sent.schema_version, **facts})
    if sent.language:
        yield from _check_language(reading, sent.language)
    # An unknown extension means nothing.
    named = SUFFIXES.get(PurePath(sent.filename.casefold()).suffix)
    if named and named is not reading.media_type:
        found = _MEDIA_TYPE_NOUNS[reading.media_type]
        yield RuleFinding("TYPE_MISMATCH", facts={"declared": sent.filename, "found": found})


def _check_language(reading: DocumentReading, declared: str) -> Iterator[RuleFinding]:
    """Yield a remark if no page is in the declared language, and the language of one is known."""
    found = {identify_page(page) for page in reading.pages} - {UNKNOWN}
    if found and declared not in found:
        language = identify_document(reading)
        facts: Facts = {
            "language": NAMES.get(language, language),
            "other": NAMES.get(declared, declared),
        }
        yield RuleFinding("LANGUAGE_DIFFERS", facts=facts)


def check_type(
    reading: DocumentReading, found: Classification, declared: str, *, is_one: bool
) -> Iterator[RuleFinding]:
    """Yield a finding if the type was not recognised, or conflicts with the declared one.

    Several documents together have no type to recognise.
    """
    declared_facts = {"declared": _type_name(declared)} if declared else {}
    if found.fit is TypeMatch.UNRECOGNIZED and is_one:
        resembled = lookalikes.find_lookalike(reading)
        facts = {"resembled": resembled} if resembled else {}
        yield RuleFinding("DOC_TYPE_UNRECOGNIZED", facts={**facts, **declared_facts})
    elif found.fit is TypeMatch.CONFLICT:
        facts = {"detected": _type_name(found.slug), "evidence": found.best.evidence}
        yield RuleFinding("DOC_TYPE_CONFLICT", facts={**facts, **declared_facts})


def _type_name(slug: str) -> str:
    return TYPES[slug].name if slug in TYPES else slug


def check_contradictions(case: CheckInput) -> Iterator[RuleFinding]:
    """Yield NOT_FINAL for the first phrase that says that the decision is not final."""
    for page in case.reading.pages:
        for phrase in case.kind.contradictions:
            if fuzzy_phrases.contains_phrase(page.text, phrase):
                facts: Facts = {"phrase": phrase, "page": page.number}
                yield RuleFinding("NOT_FINAL", page.number, facts)
                return


CHECKS = (check_contradictions,)
