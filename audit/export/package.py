"""Makes the package: the entries, their proofs, copies for people, and the verifier.

The package is written into a temporary folder beside the target, and renamed when it is complete
and the export is recorded in the ledger. The manifest has the SHA-256 of every file except the
manifest itself, its signature and run.json, which is the only file that states when the export was
made. The manifest is signed with the ledger's key, so that neither the manifest nor a file that it
names can be replaced without that key.
"""

import hashlib
import shutil
import tempfile
import uuid
import zipfile
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import orjson
from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from audit.export import proofs, trail
from audit.export.line_files import LineFiles
from audit.export.selection import Selection
from audit.export.timeline import TimelineCsv
from audit.export.trail import ExportRefused, LedgerLine, PinnedCheckpoint, Progress
from audit.ledger import actors
from audit.ledger.actors import Actor
from audit.ledger.chain import REDACTED
from audit.ledger.log import ledger, record, write_time
from audit.ledger.merkle_tree import Frontier
from audit.signing import checkpoints, keys, signed_note
from audit.signing.keys import KeyProblem

if TYPE_CHECKING:
    from audit.export.report import PdfReport

EXPORT_SOURCES = Path(__file__).parent
FORMAT = "siteledger-audit-export/2"  # releases that did not sign the manifest wrote format 1
MANIFEST = "manifest.json"
SIGNATURE = "manifest.json.note"
_JSON = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
_MIN_ZIP_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip file can hold


@dataclass(frozen=True, slots=True)
class ExportedPackage:
    """A finished export."""

    target: Path
    size: int  # of the checkpoint
    entries: int
    manifest_sha256: str


class _LineWriter(Protocol):
    """A part of the package to which each exported entry is added."""

    def add(self, line: LedgerLine) -> None: ...


@dataclass(slots=True)
class _EntryCounts:
    """The counts of the exported entries that the manifest states."""

    entries: int = 0
    first_seq: int = 0
    last_seq: int = 0
    details: int = 0
    redacted_details: int = 0
    states: Counter[str] = field(default_factory=Counter)
    trail: str = ""

    def add(self, line: LedgerLine) -> None:
        self.entries += 1
        self.first_seq, self.last_seq = self.first_seq or line.seq, line.seq
        self.details += bool(line.detail)
        self.redacted_details += bool(line.fields["detail_commit"] and not line.detail)
        self.trail = line.fields["trail"]
        if line.fields["to"]:
            self.states[line.fields["to"]] += 1


RetentionStatements = Callable[[Collection[str]], Sequence[str]]
_retention_statements: RetentionStatements = lambda _sites: ()  # noqa: E731 - a default


def register_retention(statements: RetentionStatements) -> None:
    """Set the function that states how long the documents of sites are kept.

    It receives the numbers of the sites, none for all sites, and returns sentences for run.json.
    """
    global _retention_statements  # noqa: PLW0603 - set once, at start
    _retention_statements = statements


def make_package(
    target: Path,
    selection: Selection,
    *,
    by: Actor,
    size: int | None = None,
    progress: Progress = lambda _done, _total: None,
) -> ExportedPackage:
    """Make the package `target`, a folder or a .zip file, of the trail up to a checkpoint.

    Without a `size`, a checkpoint is signed first, so that it covers all current entries.

    Raises ExportRefused if nothing can be exported (the message says what to do), BrokenChain if
    the ledger is not valid, and OSError.
    """
    if target.exists():
        message = _("{target} already exists. Name a new folder or file.")
        raise ExportRefused(message.format(target=target))
    try:  # The key is needed at the end; its absence is reported before the work begins.
        if size is None:
            checkpoints.sign_all()
        else:
            with keys.hold_signing_key():
                pass
    except KeyProblem as error:
        raise _refused_without_key(error) from error
    pin = trail.pin_checkpoint(size)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".export-") as work:
        folder = Path(work) / "package"
        manifest = _write_files(folder, Path(work), pin, selection, progress)
        manifest_hash = _hash_of(folder / MANIFEST)
        exported = ExportedPackage(target, pin.size, manifest["entries"], manifest_hash)
        ready = _pack_zip(folder) if target.suffix == ".zip" else folder
        _record_export(exported, selection, by)
        # From here on the export is recorded in the ledger, and may be handed over.
        run = {
            "made_at": write_time(datetime.now(UTC)),
            "actor": actors.add_process(by.name),
            "manifest": manifest_hash,
            "kept": list(
                _retention_statements(selection.sites)
            ),  # as of now: not part of the trail
        }
        beside = target.with_suffix(".run.json") if ready != folder else folder / "run.json"
        beside.write_bytes(orjson.dumps(run, option=_JSON))
        ready.rename(target)
    return exported


def _refused_without_key(error: KeyProblem) -> ExportRefused:
    message = _("An export is signed with the ledger's key. {error}")
    return ExportRefused(message.format(error=error))


def _write_files(
    folder: Path, work: Path, pin: PinnedCheckpoint, selection: Selection, progress: Progress
) -> dict[str, Any]:
    """Write all files except run.json, and return the manifest."""
    # A command that writes no PDF starts faster without the library that lays it out.
    from audit.export.report import PdfReport  # noqa: PLC0415 - as stated above

    (folder / "checkpoints").mkdir(parents=True)
    signed_by = trail.describe_signature(pin, _copy_evidence(folder, pin))
    report = PdfReport()
    counts = _write_entries(folder, work, pin, selection, report, progress)
    if not counts.entries:
        filters = "; ".join(
            f"{name}: {value if isinstance(value, str) else ', '.join(value)}"
            for name, value in selection.filters.items()
        )
        message = _("No entry matches the selection. Change the filters: {filters}.")
        raise ExportRefused(message.format(filters=filters))
    shutil.copyfile(EXPORT_SOURCES / "verify_trail.py", folder / "verify_trail.py")
    shutil.copyfile(EXPORT_SOURCES / "README.txt", folder / "README.txt")
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "trail": counts.trail,
        "origin": pin.origin,
        "size": pin.size,
        "head": pin.head,
        "root": pin.root,
        "whole": selection.is_whole,
        "filters": selection.filters,
        "entries": counts.entries,
        "first_seq": counts.first_seq,
        "last_seq": counts.last_seq,
        "details": counts.details,
        "details_taken_out": counts.redacted_details,
        "states": dict(counts.states),
        "software": settings.SOFTWARE_VERSION,
    }
    verdict = ngettext(
        "The only entry of the trail was read for this export: the chain, the details and the "
        "roots of its checkpoints are valid. Checkpoint: {signed_by}. This is consistent, but "
        "confirmed only by this installation itself: no anchor is read back for an export. "
        "verify_trail.py compares it with a checkpoint that you keep.",
        "All {n} entries of the trail were read for this export: the chain, the details and the "
        "roots of its checkpoints are valid. Checkpoint: {signed_by}. This is consistent, but "
        "confirmed only by this installation itself: no anchor is read back for an export. "
        "verify_trail.py compares it with a checkpoint that you keep.",
        pin.size,
    ).format(n=f"{pin.size:,}", signed_by=signed_by)
    report.write(folder / "report.pdf", manifest, verdict, _hash_of(folder / "verify_trail.py"))
    manifest["files"] = {
        path.relative_to(folder).as_posix(): _hash_of(path) for path in _files(folder)
    }
    raw = orjson.dumps(manifest, option=_JSON)
    (folder / MANIFEST).write_bytes(raw)
    (folder / SIGNATURE).write_text(_sign_manifest(raw), encoding="utf-8", newline="")
    return manifest


def _sign_manifest(manifest: bytes) -> str:
    """Return the signed note over the manifest (c2sp.org/signed-note).

    Its text has two lines and a checkpoint has three, so that neither can be taken for the other.
    """
    text = f"{FORMAT} {MANIFEST}\nsha256 {hashlib.sha256(manifest).hexdigest()}\n"
    try:
        with keys.hold_signing_key() as signer:
            return signed_note.sign_note(text, [signer])
    except KeyProblem as error:
        raise _refused_without_key(error) from error


def _copy_evidence(folder: Path, pin: PinnedCheckpoint) -> str:
    """Copy checkpoints, time stamps and published keys, and return the text of the keys."""
    for size, note in pin.notes.items():
        (folder / "checkpoints" / str(size)).write_text(note, encoding="utf-8", newline="")
    for size, token in pin.tokens.items():
        (folder / "checkpoints" / f"{size}.tsr").write_bytes(token)
    # The keys are not read from the database, where an attacker could insert other keys.
    published = keys.get_public_file()
    if not published.is_file():
        return ""
    shutil.copyfile(published, folder / published.name)
    return published.read_text(encoding="utf-8")


def _write_entries(
    folder: Path,
    work: Path,
    pin: PinnedCheckpoint,
    selection: Selection,
    report: "PdfReport",
    progress: Progress,
) -> _EntryCounts:
    counts, redacted = _EntryCounts(), set[str]()
    (folder / "fhir").mkdir()
    with ExitStack() as stack:
        nodes = Frontier()
        if not selection.is_whole:
            (work / "nodes").mkdir()
            nodes = stack.enter_context(proofs.StoredTree(work / "nodes"))
        seqs = stack.enter_context((work / "seqs").open("w+b"))
        line_files = stack.enter_context(LineFiles(folder))
        timeline = stack.enter_context(TimelineCsv(folder / "timeline.csv"))
        writers: tuple[_LineWriter, ...] = (counts, report, line_files, timeline)
        for line in trail.read_lines(pin, nodes, progress):
            # The entry that redacted a selected detail belongs to every part with that detail.
            is_redaction = line.fields["event"] == REDACTED and line.fields["subject"] in redacted
            if not (selection.has(line.fields) or is_redaction):
                continue
            if line.fields["detail_commit"] and not line.detail:
                redacted.add(f"entry:{line.seq}")
            seqs.write(line.seq.to_bytes(8, "big"))
            for writer in writers:
                writer.add(line)
        if isinstance(nodes, proofs.StoredTree):
            seqs.seek(0)
            proofs.write_proofs(folder / "proofs", pin, nodes, seqs)
    return counts


def _record_export(package: ExportedPackage, selection: Selection, by: Actor) -> None:
    detail: Mapping[str, Any] = {
        "filters": selection.filters,
        "size": package.size,
        "entries": package.entries,
        "package": package.target.name,
    }
    with ledger():
        record(
            "ledger.exported",
            subject=f"export:{uuid.uuid4()}",
            by=by,
            site="".join(selection.sites) if len(selection.sites) == 1 else "",
            doc_id=selection.doc_id,
            correlation_id=selection.correlation_id,
            sha256=package.manifest_sha256,
            detail=detail,
        )


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _hash_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _pack_zip(folder: Path) -> Path:
    """Pack the folder as a zip file.

    The same files give the same bytes: their order, times and permissions are fixed.
    """
    path = folder.with_suffix(".zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for file in _files(folder):
            info = zipfile.ZipInfo(file.relative_to(folder).as_posix(), _MIN_ZIP_TIME)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            with file.open("rb") as source, archive.open(info, "w", force_zip64=True) as out:
                shutil.copyfileobj(source, out, 1 << 20)
    return path
