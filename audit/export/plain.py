"""The files of one line for each entry: the entries, their details, and FHIR's."""

from contextlib import ExitStack
from pathlib import Path
from typing import IO

import orjson

from audit.export import fhir
from audit.export.trail import LedgerLine


class LineFiles:
    def __init__(self, folder: Path) -> None:
        self._stack = ExitStack()
        names = ["entries", "details", "fhir/AuditEvent", "fhir/Provenance"]
        self._entries, self._details, self._events, self._filed = [
            self._stack.enter_context((folder / f"{name}.ndjson").open("wb")) for name in names
        ]

    def __enter__(self) -> "LineFiles":
        return self

    def __exit__(self, *_error: object) -> None:
        self._stack.close()

    def add(self, line: LedgerLine) -> None:
        _put(self._entries, line.text.encode())
        if line.detail:
            kept = {"detail": line.detail, "salt": line.salt, "seq": line.seq}
            _put(self._details, orjson.dumps(kept))
        _put(self._events, fhir.audit_event(line))
        if fhir.is_filed(line):
            _put(self._filed, fhir.provenance(line))


def _put(file: IO[bytes], line: bytes) -> None:
    file.write(line + b"\n")
