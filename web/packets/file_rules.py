"""Checks the rules that a file has to meet before its bytes are accepted, in sentences.

The upload form, the addresses of its script and the resumable uploads apply the same rules.
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
        return _("We cannot open this file. Save it as a PDF and add it again.")
    if not size:
        return _("The file is empty. Open it on your computer, save it and add it again.")
    if size > settings.MAX_DOCUMENT_MB * 1_000_000:
        return _(
            "The file is {size} MB. The limit is {limit} MB. Scan it in black and white and add it "
            "again."
        ).format(size=f"{size / 1e6:.1f}", limit=settings.MAX_DOCUMENT_MB)
    return ""


def explain_too_many(max_files: int) -> str:
    """Return the sentence for a file that exceeds the number of files of the form."""
    sentence = ngettext(
        "This file was not added. You can send only one file here.",
        "This file was not added. A packet can have at most {n} files.",
        max_files,
    )
    return sentence.format(n=max_files)
