"""Sentences about the ledger are in the language that the installation has when they are made."""

import struct

import pytest

from audit.models import CheckRun
from audit.verification.runs import run_check
from audit.verification.start import Mode
from audit.verification.verify import Result
from tests.audit.support import sql, triggers_removed, write_many

HEADER = "Content-Type: text/plain; charset=UTF-8\nPlural-Forms: nplurals=2; plural=(n != 1);\n"
MAGIC = 0x950412DE  # of a compiled catalogue
GERMAN = {
    "the line was changed: its hash differs": "die Zeile wurde geändert: ihr Hash weicht ab",
    "the column '{column}' differs from the line": "die Spalte '{column}' weicht von der Zeile ab",
    "Entry {seq}: {why} ({expected} / {found}).": "Eintrag {seq}: {why} ({expected} / {found}).",
}


def write_catalogue(folder, messages):
    """Write a compiled catalogue, as `compilemessages` does."""
    rows = sorted((key.encode(), text.encode()) for key, text in {"": HEADER, **messages}.items())
    start, table, data = 28 + 16 * len(rows), [], b""
    for texts in zip(*rows, strict=True):
        for text in texts:
            table += [len(text), start + len(data)]
            data += text + b"\0"
    head = [MAGIC, 0, len(rows), 28, 28 + 8 * len(rows), 0, start]
    folder.mkdir(parents=True)
    (folder / "django.mo").write_bytes(struct.pack(f"<{7 + len(table)}I", *head, *table) + data)


@pytest.fixture
def german(settings, tmp_path):
    write_catalogue(tmp_path / "de" / "LC_MESSAGES", GERMAN)
    settings.LOCALE_PATHS = [tmp_path]
    settings.LANGUAGE_CODE = "de"


@pytest.fixture
def ledger(db):
    write_many(3, site="DE-014")


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ("body = replace(body, 'DE', 'XX')", "Eintrag 2: die Zeile wurde geändert: ihr Hash"),
        ("site = 'other'", "Eintrag 2: die Spalte 'site' weicht von der Zeile ab (DE-014 / other)"),
    ],
)
def test_a_stored_finding_keeps_the_language_in_which_it_was_made(
    ledger, german, settings, change, finding
):
    with triggers_removed():
        sql(f"UPDATE audit_entry SET {change} WHERE seq = 2")  # noqa: S608 - constants
    _verdict, run = run_check(Mode.FULL, asked_by="system:tests")
    settings.LANGUAGE_CODE = "en-gb"
    stored = CheckRun.objects.get(pk=run.pk)
    assert stored.findings[0].startswith(finding)
    assert stored.result == Result.BROKEN
