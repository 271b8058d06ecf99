"""Compares renditions with the ledger. `audit.verification.verify` runs this check.

The entry of a rendition has its kind, its SHA-256, its size and the tool that made it. Each row has
to have such an entry, and each entry its row.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Any

import orjson
from django.utils.translation import gettext as _

from audit.ledger import queries
from audit.ledger.log import normalize_text
from audit.verification.verify import VerificationNotice
from ingestion.documents.renditions import RENDITION_KEY, RENDITION_MADE
from ingestion.models import Document, DocumentRendition

DOCUMENTS_PER_PAGE = 500  # documents whose renditions are compared at a time


def check_renditions_against_ledger(since: int = 0) -> Iterator[str]:
    """Yield a sentence for each rendition without an entry, and for each entry without its row.

    All documents are compared, whatever `since` is, because rows may be changed without an entry.
    Yields a VerificationNotice for an entry whose detail is redacted.
    """
    keys = Document.objects.order_by("pk").values_list("pk", flat=True).iterator(1_000)
    while page := list(islice(keys, DOCUMENTS_PER_PAGE)):
        yield from _compare(page)


def _compare(keys: Collection[int]) -> Iterator[str]:
    stored: defaultdict[str, Counter[bytes]] = defaultdict(Counter)
    for rendition in DocumentRendition.objects.filter(document__in=keys):
        stored[f"document:{rendition.document_id}"][_serialise(rendition.as_json())] += 1
    recorded: defaultdict[str, Counter[bytes]] = defaultdict(Counter)
    redacted = set()
    subjects = [f"document:{key}" for key in keys]
    for entry in queries.list_entries_of_events([RENDITION_MADE], subjects):
        if entry.is_redacted:
            redacted.add(entry.subject)
        else:
            facts = (entry.detail or {}).get(RENDITION_KEY, {})
            recorded[entry.subject][_serialise(facts)] += 1
    for subject in sorted(stored.keys() | recorded.keys() | redacted):
        if subject in redacted:
            sentence = _("{document}: a rendition cannot be checked: its entry is redacted.")
            yield VerificationNotice(sentence.format(document=subject))
        elif stored[subject] != recorded[subject]:
            sentence = _("{document}: its renditions are not those of its entries.")
            yield sentence.format(document=subject)


def _serialise(rendition: Mapping[str, Any]) -> bytes:
    """Return a rendition as text, normalised as in a detail."""
    return orjson.dumps(normalize_text(dict(rendition)), option=orjson.OPT_SORT_KEYS)
