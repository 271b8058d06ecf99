"""Makes the package: the entries, what proves them, copies for people, and the verifier.

Written into a folder beside the target and renamed when all of it is there and the export is on
record. The manifest has the SHA-256 of every file except its own, that of its signature, and
run.json's, which alone says when this was made. It is signed with the ledger's key, so that neither
it nor a file that it names can be replaced without that key.
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
from typing import Any, Protocol

import orjson
from django.conf import settings

from audit.export import proofs, trail
from audit.export.plain import LineFiles
from audit.export.report import PdfReport
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

HERE = Path(__file__).parent
FORMAT = "siteledger-audit-export/2"  # 1 was that of releases that did not sign the manifest
MANIFEST = "manifest.json"
SIGNATURE = "manifest.json.note"
_JSON = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
_BEGINNING = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip file can hold


@dataclass(frozen=True, slots=True)
class ExportedPackage:
    """What was handed over."""

    target: Path
    size: int  # of the checkpoint
    entries: int
    manifest_sha256: str


class _Writer(Protocol):
    def add(self, line: LedgerLine) -> None: ...


@dataclass(slots=True)
class _Count:
    """What the manifest says of the entries that went by."""

    entries: int = 0
    first_seq: int = 0
    last_seq: int = 0
    details: int = 0
    taken_out: int = 0
    states: Counter[str] = field(default_factory=Counter)
    trail: str = ""

    def add(self, line: LedgerLine) -> None:
        self.entries += 1
        self.first_seq, self.last_seq = self.first_seq or line.seq, line.seq
        self.details += bool(line.detail)
        self.taken_out += bool(line.fields["detail_commit"] and not line.detail)
        self.trail = line.fields["trail"]
        if line.fields["to"]:
            self.states[line.fields["to"]] += 1


def _not_told(_sites: Collection[str]) -> Sequence[str]:
    return ()


_retention: Callable[[Collection[str]], Sequence[str]] = _not_told


def register_retention(told: Callable[[Collection[str]], Sequence[str]]) -> None:
    """Who knows how long what these sites sent is kept, or all sites; sentences for run.json."""
    global _retention  # noqa: PLW0603 - set once, at start
    _retention = told


def _nobody(_done: int, _of: int) -> None:
    pass


def make_package(
    target: Path,
    selection: Selection,
    *,
    by: Actor,
    size: int | None = None,
    progress: Progress = _nobody,
) -> ExportedPackage:
    """Make the package `target`, a folder or a .zip file, of the trail up to a checkpoint.

    Without a `size`, a checkpoint is signed first, so that all entries that are there are covered.

    Raises ExportRefused, with what to do, BrokenChain when the ledger does not hold, and OSError.
    """
    if target.exists():
        raise ExportRefused(f"{target} is there already; name a new folder or file")
    _expect_key(sign=size is None)
    pin = trail.pin_checkpoint(size)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".export-") as work:
        folder = Path(work) / "package"
        manifest = _fill(folder, Path(work), pin, selection, progress)
        manifest_hash = _hash_of(folder / MANIFEST)
        made = ExportedPackage(target, pin.size, manifest["entries"], manifest_hash)
        ready = _zipped(folder) if target.suffix == ".zip" else folder
        _record(made, selection, by)
        # On record: what is handed over from here on has its entry.
        run = {
            "made_at": write_time(datetime.now(UTC)),
            "actor": actors.add_process(by.name),
            "manifest": manifest_hash,
            "kept": list(_retention(selection.sites)),  # as of now: it is not the trail's to say
        }
        beside = target.with_suffix(".run.json") if ready != folder else folder / "run.json"
        beside.write_bytes(orjson.dumps(run, option=_JSON))
        ready.rename(target)
    return made


def _expect_key(*, sign: bool) -> None:
    """Before the work begins: what is made is signed in the end. Raises ExportRefused."""
    try:
        if sign:
            checkpoints.sign_all()
        else:
            with keys.signing_key():
                pass
    except KeyProblem as error:
        raise _refused_without_key(error) from error


def _refused_without_key(error: KeyProblem) -> ExportRefused:
    return ExportRefused(f"an export is signed with the ledger's key. {str(error).rstrip('.')}")


def _fill(
    folder: Path, work: Path, pin: PinnedCheckpoint, selection: Selection, progress: Progress
) -> dict[str, Any]:
    """Everything but run.json. The manifest, which is also written."""
    (folder / "checkpoints").mkdir(parents=True)
    signed_by = trail.describe_signature(pin, _copy_what_proves(folder, pin))
    report = PdfReport()
    count = _write_entries(folder, work, pin, selection, report, progress)
    if not count.entries:
        raise ExportRefused(f"no entry fits that choice: {selection.filters}")
    shutil.copyfile(HERE / "verify_trail.py", folder / "verify_trail.py")
    shutil.copyfile(HERE / "README.txt", folder / "README.txt")
    manifest = _manifest(pin, selection, count)
    verdict = (
        f"All {pin.size:,} entries of the trail were read for this export: the chain, the details "
        f"and the roots of its checkpoints hold. Checkpoint: {signed_by}. This is consistent, but "
        "only by this installation's own word: no anchor is read back for an export. "
        "verify_trail.py compares it with a checkpoint that you keep."
    )
    report.write(folder / "report.pdf", manifest, verdict, _hash_of(folder / "verify_trail.py"))
    manifest["files"] = {
        path.relative_to(folder).as_posix(): _hash_of(path) for path in _files(folder)
    }
    raw = orjson.dumps(manifest, option=_JSON)
    (folder / MANIFEST).write_bytes(raw)
    (folder / SIGNATURE).write_text(_signed(raw), encoding="utf-8", newline="")
    return manifest


def _signed(manifest: bytes) -> str:
    """Return the signed note over the manifest (c2sp.org/signed-note).

    Its text has two lines, and a checkpoint has three: neither can pass for the other.
    """
    text = f"{FORMAT} {MANIFEST}\nsha256 {hashlib.sha256(manifest).hexdigest()}\n"
    try:
        with keys.signing_key() as signer:
            return signed_note.sign_note(text, [signer])
    except KeyProblem as error:
        raise _refused_without_key(error) from error


def _copy_what_proves(folder: Path, pin: PinnedCheckpoint) -> str:
    """Checkpoints, time stamps, and the published keys, whose text is given back."""
    for size, note in pin.notes.items():
        (folder / "checkpoints" / str(size)).write_text(note, encoding="utf-8", newline="")
    for size, token in pin.tokens.items():
        (folder / "checkpoints" / f"{size}.tsr").write_bytes(token)
    # Not from the database: who can write there could bring keys of their own.
    published = keys.public_file()
    if not published.is_file():
        return ""
    shutil.copyfile(published, folder / published.name)
    return published.read_text(encoding="utf-8")


def _write_entries(
    folder: Path,
    work: Path,
    pin: PinnedCheckpoint,
    selection: Selection,
    report: PdfReport,
    progress: Progress,
) -> _Count:
    count, bare = _Count(), set[str]()
    (folder / "fhir").mkdir()
    with ExitStack() as stack:
        nodes = Frontier() if selection.is_whole else stack.enter_context(_nodes(work))
        seqs = stack.enter_context((work / "seqs").open("w+b"))
        files = stack.enter_context(LineFiles(folder)), stack.enter_context(_timeline(folder))
        writers: tuple[_Writer, ...] = (count, report, *files)
        for line in trail.read_lines(pin, nodes, progress):
            if not (selection.has(line.fields) or _tells_why(line, bare)):
                continue
            if line.fields["detail_commit"] and not line.detail:
                bare.add(f"entry:{line.seq}")
            seqs.write(line.seq.to_bytes(8, "big"))
            for writer in writers:
                writer.add(line)
        if isinstance(nodes, proofs.StoredTree):
            seqs.seek(0)
            proofs.write_proofs(folder / "proofs", pin, nodes, seqs)
    return count


def _tells_why(line: LedgerLine, bare: set[str]) -> bool:
    """Whether it is the entry by which the detail of a chosen one was taken out."""
    return line.fields["event"] == REDACTED and line.fields["subject"] in bare


def _nodes(work: Path) -> proofs.StoredTree:
    (work / "nodes").mkdir()
    return proofs.StoredTree(work / "nodes")


def _timeline(folder: Path) -> TimelineCsv:
    return TimelineCsv(folder / "timeline.csv")


def _manifest(pin: PinnedCheckpoint, selection: Selection, count: _Count) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "trail": count.trail,
        "origin": pin.origin,
        "size": pin.size,
        "head": pin.head,
        "root": pin.root,
        "whole": selection.is_whole,
        "filters": selection.filters,
        "entries": count.entries,
        "first_seq": count.first_seq,
        "last_seq": count.last_seq,
        "details": count.details,
        "details_taken_out": count.taken_out,
        "states": dict(count.states),
        "software": settings.SOFTWARE_VERSION,
    }


def _record(made: ExportedPackage, selection: Selection, by: Actor) -> None:
    detail: Mapping[str, Any] = {
        "filters": selection.filters,
        "size": made.size,
        "entries": made.entries,
        "package": made.target.name,
    }
    with ledger():
        record(
            "ledger.exported",
            subject=f"export:{uuid.uuid4()}",
            by=by,
            site="".join(selection.sites) if len(selection.sites) == 1 else "",
            doc_id=selection.doc_id,
            correlation_id=selection.correlation_id,
            sha256=made.manifest_sha256,
            detail=detail,
        )


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _hash_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _zipped(folder: Path) -> Path:
    """The same bytes for the same files: fixed order, times and rights."""
    path = folder.with_suffix(".zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for file in _files(folder):
            info = zipfile.ZipInfo(file.relative_to(folder).as_posix(), _BEGINNING)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            with file.open("rb") as source, archive.open(info, "w", force_zip64=True) as out:
                shutil.copyfileobj(source, out, 1 << 20)
    return path
