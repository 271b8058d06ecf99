"""The rules that a file has to meet before its bytes are accepted, and their sentences.

The upload form, its script's addresses and the resumable uploads apply the same rules.
"""

from pathlib import PurePath

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from ingestion.reading.results import SUFFIXES

ACCEPTED_SUFFIXES = tuple(SUFFIXES)


def explain_unacceptable(filename: str, size: int) -> str:
    """Return why a file cannot be added, in sentences; "" if it can. `size` is in bytes."""
    if PurePath(filename).suffix.lower() not in ACCEPTED_SUFFIXES:
        return _("This is not a PDF or a scan. Save it as a PDF and add it again.")
    if not size:
        return _("The file is empty. Open it, save it and add it again.")
    if size > settings.MAX_DOCUMENT_MB * 1_000_000:
        return _(
            "The file has {size} MB, and the limit is {limit} MB. Scan it in black and white."
        ).format(size=f"{size / 1e6:.1f}", limit=settings.MAX_DOCUMENT_MB)
    return ""


def explain_left_out(most: int) -> str:
    """Return the sentence for a file beyond the `most` files that the form takes."""
    sentence = ngettext(
        "This file was not added: only one file can be sent here.",
        "This file was not added: a packet can have at most {n} files.",
        most,
    )
    return sentence.format(n=most)
