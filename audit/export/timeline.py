"""Writes timeline.csv: one row for each exported entry, for spreadsheets.

The last column is the line of the entry, so that the chain can be verified from this file alone.
"""

import csv
from pathlib import Path
from types import TracebackType
from typing import Any

import orjson

from audit import electronic_signatures
from audit.export.trail import LedgerLine
from audit.files.csv_export import escape_formula

FIELDS = [
    "event", "subject", "site", "doc_id", "sha256", "from", "to", "code", "reason_code",
    "correlation_id", "actor", "role", "software", "rules", "schema_version",
]  # fmt: skip
HEADER = [
    "seq", "recorded_at (UTC)", "occurred_at (UTC)", *FIELDS, "printed_name", "meaning", "detail",
    "prev", "hash", "line",
]  # fmt: skip
INVALID = "INVALID"


class TimelineCsv:
    """A CSV file in UTF-8 with a byte order mark, without which Excel assumes another encoding."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8-sig", newline="")
        self._rows = csv.writer(self._file)
        self._rows.writerow(HEADER)

    def __enter__(self) -> "TimelineCsv":
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def add(self, line: LedgerLine) -> None:
        """Write the row of one entry.

        Cells that a spreadsheet would read as a formula are escaped.
        """
        fields = line.fields
        times = fields["recorded_at"], fields["occurred_at"]
        values = (fields[name] for name in FIELDS)
        signature = format_signature_columns(line)
        proof = line.detail, fields["prev"], line.hash, line.text
        self._rows.writerow(
            [escape_formula(cell) for cell in (line.seq, *times, *values, *signature, *proof)]
        )


def format_signature_columns(line: LedgerLine) -> tuple[str, str]:
    """Return printed name and meaning of a signature (21 CFR 11.50), empty without a signature.

    If the digest does not match the signed content, the meaning begins with INVALID (11.70). A
    recorded remark about the signer's account follows the meaning in brackets.
    """
    detail: dict[str, Any] = orjson.loads(line.detail) if line.detail else {}
    meaning = str(detail.get("meaning", ""))
    entry_values = line.fields["sha256"], line.fields["occurred_at"]
    if (
        electronic_signatures.SIGNATURE_KEY in detail
        and not electronic_signatures.is_signature_intact(detail, *entry_values)
    ):
        meaning = f"{INVALID}: {meaning}"
    if account := detail.get(electronic_signatures.ACCOUNT_KEY):
        meaning = f"{meaning} [{account}]"
    return str(detail.get("printed_name", "")), meaning
