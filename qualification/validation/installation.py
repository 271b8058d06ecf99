"""Installation qualification: checks what is installed here, without changing anything."""

import platform
import shutil
import stat
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.core import checks
from django.db import DEFAULT_DB_ALIAS, connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from audit.ledger import append_only, queries
from audit.signing import anchors, clock, keys
from audit.verification import ledger_status
from ingestion.storage import disk_space
from qualification.validation import identity, packages
from qualification.validation.steps import NeedsJudgement, Script, StepFailed

PYTHON = (3, 11)
MAX_NAMES = 12  # names that an observation lists
FOLDERS = ("DATA_DIR", "ARCHIVE_DIR", "SPOOL_DIR", "ANCHOR_DIR")
SCRIPT = Script("IQ")


@SCRIPT.step("Name the software.", "A release whose code is told by its digest and its commit.")
def _software() -> str:
    commit = identity.commit_id(settings.BASE_DIR)
    told = f"SiteLedger {settings.SOFTWARE_VERSION}, code {identity.code_digest(settings.BASE_DIR)}"
    if not commit:
        raise NeedsJudgement(
            f"{told}; this is no checkout: compare the digest with that of the release"
        )
    if commit.endswith("-dirty"):
        raise NeedsJudgement(
            f"{told}, commit {commit.removesuffix('-dirty')} with files changed since"
        )
    return f"{told}, commit {commit}"


@SCRIPT.step("Ask for Python's version.", "3.11 or newer.")
def _python() -> str:
    told = f"{platform.python_implementation()} {platform.python_version()}, {sys.executable}, "
    told += platform.platform()
    if sys.version_info[:2] < PYTHON:
        raise StepFailed(told)
    return told


@SCRIPT.step("Compare the packages with requirements.txt.", "Each pinned one, in its version.")
def _versions() -> str:
    pins = packages.read_pins(settings.BASE_DIR / "requirements.txt")
    if found := list(packages.version_mismatches(pins)):
        raise StepFailed(_some(found))
    return f"{len(pins)} packages are pinned; each is installed so, or is for other platforms"


@SCRIPT.step("Hash the files of these packages.", "Each as its package's RECORD says.")
def _files() -> str:
    pins = packages.read_pins(settings.BASE_DIR / "requirements.txt")
    compared, differing = packages.altered_files(pins)
    if differing:
        raise StepFailed(f"{len(differing):,} of {compared:,} files differ: {_some(differing)}")
    return f"{compared:,} files compared, none differs"


@SCRIPT.step("Ask tesseract.", "Installed, with the languages of OCR_LANGUAGES.")
def _tesseract() -> str:
    program = shutil.which("tesseract")
    if program is None:
        raise StepFailed("tesseract is not installed: scans cannot be read")
    version, languages = (_said(program, asked) for asked in ("--version", "--list-langs"))
    there = set(languages.split("\n")[1:])
    wanted = settings.READING_LIMITS.languages.split("+")
    told = f"{version.split(chr(10))[0]}, languages {', '.join(sorted(there))}"
    if missing := [name for name in wanted if name not in there]:
        raise StepFailed(f"{told}; not installed: {', '.join(missing)}")
    return told


def _said(program: str, asked: str) -> str:
    told = subprocess.run([program, asked], capture_output=True, text=True, check=True)  # noqa: S603 - found in PATH
    return told.stdout.strip()


@SCRIPT.step("Ask the database.", "It answers, and keeps through a power cut what it confirmed.")
def _database() -> str:
    if connection.vendor == "sqlite":
        journal, synchronous, version = (
            _asked(sql)
            for sql in ("PRAGMA journal_mode", "PRAGMA synchronous", "SELECT sqlite_version()")
        )
        told = f"SQLite {version}, journal_mode {journal}, synchronous {synchronous}"
        if (journal, synchronous) != ("wal", "2"):
            raise StepFailed(f"{told}: a power cut may lose what was confirmed")
        return told
    values = {name: _asked(f"SHOW {name}") for name in ("fsync", "full_page_writes", "TimeZone")}
    told = f"{_asked('SELECT version()')}; " + ", ".join(f"{n} {v}" for n, v in values.items())
    if "off" in values.values():
        raise StepFailed(f"{told}: a power cut may lose what was confirmed")
    return told


def _asked(sql: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return str(cursor.fetchone()[0])


@SCRIPT.step("Compare the database's schema.", "All migrations of this release applied.")
def _migrations() -> str:
    executor = MigrationExecutor(connection)
    waiting = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if waiting:
        raise StepFailed(_some([f"{each.app_label}.{each.name} waits" for each, _ in waiting]))
    return f"{len(executor.loader.applied_migrations)} migrations applied, none waits"


@SCRIPT.step("Compare the ledger's guards.", "Every trigger there, switched on, unchanged.")
def _guards() -> str:
    if missing := append_only.missing_triggers(connection):
        raise StepFailed(f"missing or changed: {', '.join(missing)}")
    wanted = append_only.trigger_tables(connection.vendor)
    return f"{len(wanted)} triggers are as this release makes them"


@SCRIPT.step(
    "Run all system checks, also those for deployment.", "No error; a person judges warnings."
)
def _checks() -> str:
    found = checks.run_checks(include_deployment_checks=True, databases=[DEFAULT_DB_ALIAS])
    shown = [each for each in found if not each.is_silenced()]
    told = "\n".join(f"({each.id}) {each.msg}" for each in shown)
    if any(each.is_serious() for each in shown):
        raise StepFailed(told)
    if shown:
        raise NeedsJudgement(told)
    return "nothing is reported"


@SCRIPT.step("Look how it is run.", "DEBUG off, HTTPS only.")
def _debug() -> str:
    told = f"DEBUG {settings.DEBUG}, HTTPS_ONLY {settings.HTTPS_ONLY}"
    if settings.DEBUG or not settings.HTTPS_ONLY:
        raise StepFailed(f"{told}: so it may be tried out, and not used")
    return told


@SCRIPT.step(
    "Look for the ledger's keys.", "A public key in force; where this host signs, its private one."
)
def _keys() -> str:
    known = keys.published_keys()
    if not known:
        raise StepFailed("there is no key: nothing is signed. `manage.py audit_keys create`")
    told = f"{len(known)} public, in force {known[-1].verifier.text}"
    if not keys.has_private_key():
        raise NeedsJudgement(f"{told}; this host has no private one, and signs nothing")
    mode = stat.filemode(keys.private_file().stat().st_mode)
    return f"{told}; the private one is {mode}"


@SCRIPT.step(
    "Ask where the newest checkpoint is held.",
    "In an anchor that this installation cannot rewrite.",
)
def _anchors() -> str:
    last = ledger_status.ledger_status().signed
    if last is None:
        raise NeedsJudgement("nothing is signed yet")
    held = ", ".join(f"{each.anchor} ({each.place})" for each in last.held) or "no place yet"
    told = f"the checkpoint of {last.size:,} entries is held by {held}"
    oldest = timezone.now() - timedelta(seconds=settings.AUDIT_UNANCHORED_SECONDS)
    if waiting := [str(each) for each in anchors.list_unanchored() if each.since < oldest]:
        raise StepFailed(f"{told}; {'; '.join(waiting)}")
    weaknesses = [place.weakness() for place in anchors.configured_anchors()]
    if all(weaknesses):
        raise NeedsJudgement(f"{told}; no anchor is independent: {' '.join(weaknesses)}")
    return told


@SCRIPT.step("Ask for the end of the ledger.", "It answers; for comparison later.")
def _ledger() -> str:
    entries, head = queries.last_entry() or (0, "none")
    return f"trail {settings.AUDIT_TRAIL}: {entries:,} entries, head {head}"


@SCRIPT.step("Look for clocks that differ.", "None on record, compared with a time server.")
def _clock() -> str:
    if apart := clock.excessive_skews():
        raise StepFailed("; ".join(map(str, apart)))
    told = f"stored in {settings.TIME_ZONE}; no difference is on record"
    if not (settings.NTP_SERVER or settings.ANCHOR_TSA):
        raise NeedsJudgement(f"{told}, and no time server is named to compare with (NTP_SERVER)")
    return told


@SCRIPT.step("Look for room on the disks.", "At least READY_FREE_MB for archive and spool.")
def _room() -> str:
    told = [
        f"{name} {disk_space.get_free_bytes(name) // 1_000_000:,} MB"
        for name in disk_space.list_folders().values()
    ]
    if low := disk_space.describe_low_space():
        raise StepFailed(low)
    return f"free: {', '.join(told)}"


@SCRIPT.step("Look whose the folders are.", "Not for everybody to write to.")
def _folders() -> str:
    told = [f"{name} {_folder(Path(getattr(settings, name)))}" for name in FOLDERS]
    if open_ones := [line for line in told if line.endswith(("w-", "wx", "wt"))]:
        raise StepFailed(f"everybody may write: {'; '.join(open_ones)}")
    return "\n".join(told)


def _folder(path: Path) -> str:
    if not path.is_dir():
        return f"{path}: not made yet"
    return f"{path}: {path.owner()}, {stat.filemode(path.stat().st_mode)}"


def _some(found: list[str]) -> str:
    rest = len(found) - MAX_NAMES
    return "; ".join(found[:MAX_NAMES]) + (f"; and {rest:,} more" if rest > 0 else "")
