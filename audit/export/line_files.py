"""Writes the files with one line per entry: the entries, their details, and FHIR resources."""

from contextlib import ExitStack
from pathlib import Path
from typing import IO

import orjson

from audit.export import fhir
from audit.export.trail import LedgerLine


class LineFiles:
    """The open files of one package. Use it as a context manager."""

    def __init__(self, folder: Path) -> None:
        self._stack = ExitStack()
        names = ["entries", "details", "fhir/AuditEvent", "fhir/Provenance"]
        self._entries, self._details, self._audit_events, self._provenances = [
            self._stack.enter_context((folder / f"{name}.ndjson").open("wb")) for name in names
        ]

    def __enter__(self) -> "LineFiles":
        return self

    def __exit__(self, *_error: object) -> None:
        self._stack.close()

    def add(self, line: LedgerLine) -> None:
        """Write the entry to each file: its line, its detail, and its FHIR resources."""
        _write_line(self._entries, line.text.encode())
        if line.detail:
            detail = {"detail": line.detail, "salt": line.salt, "seq": line.seq}
            _write_line(self._details, orjson.dumps(detail))
        _write_line(self._audit_events, fhir.make_audit_event(line))
        if fhir.is_filed(line):
            _write_line(self._provenances, fhir.make_provenance(line))


def _write_line(file: IO[bytes], line: bytes) -> None:
    file.write(line + b"\n")
