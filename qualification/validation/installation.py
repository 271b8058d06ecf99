"""Checks what is installed here, without changing anything (installation qualification)."""

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
from django.db.migrations.loader import MigrationLoader
from django.utils import timezone

from audit.ledger import append_only, queries
from audit.signing import anchors, clock, keys
from audit.verification import ledger_status
from ingestion.storage import disk_space
from qualification.validation import identity, packages
from qualification.validation.steps import NeedsJudgement, Script, StepFailed

MIN_PYTHON = (3, 11)
MAX_LISTED = 12  # names in one observation
FOLDER_SETTINGS = ("DATA_DIR", "ARCHIVE_DIR", "SPOOL_DIR", "ANCHOR_DIR")
SCRIPT = Script("IQ")


@SCRIPT.step("Identify the software.", "A release, identified by its digest and its commit.")
def _check_software() -> str:
    commit = identity.commit_id(settings.BASE_DIR)
    digest = identity.compute_code_digest(settings.BASE_DIR)
    observed = f"SiteLedger {settings.SOFTWARE_VERSION}, code {digest}"
    if not commit:
        raise NeedsJudgement(
            f"{observed}; this is not a checkout: compare the digest with that of the release"
        )
    if commit.endswith("-dirty"):
        raise NeedsJudgement(
            f"{observed}, commit {commit.removesuffix('-dirty')} with changed files"
        )
    return f"{observed}, commit {commit}"


@SCRIPT.step("Read the version of Python.", "3.11 or newer.")
def _check_python() -> str:
    observed = (
        f"{platform.python_implementation()} {platform.python_version()}, {sys.executable}, "
        f"{platform.platform()}"
    )
    if sys.version_info[:2] < MIN_PYTHON:
        raise StepFailed(observed)
    return observed


@SCRIPT.step(
    "Compare the packages with requirements.txt.", "Each pinned package in its pinned version."
)
def _check_package_versions() -> str:
    pins = packages.read_pins(settings.BASE_DIR / "requirements.txt")
    if mismatches := list(packages.find_version_mismatches(pins)):
        raise StepFailed(_abbreviate(mismatches))
    return f"{len(pins)} packages are pinned; each is installed so, or is for other platforms"


@SCRIPT.step("Hash the files of these packages.", "Each file as in the RECORD of its package.")
def _check_package_files() -> str:
    pins = packages.read_pins(settings.BASE_DIR / "requirements.txt")
    compared, differing = packages.find_altered_files(pins)
    if differing:
        raise StepFailed(
            f"{len(differing):,} of {compared:,} files differ: {_abbreviate(differing)}"
        )
    return f"{compared:,} files were compared, none differs"


@SCRIPT.step("Query tesseract.", "Installed, with the languages in OCR_LANGUAGES.")
def _check_tesseract() -> str:
    program = shutil.which("tesseract")
    if program is None:
        raise StepFailed("tesseract is not installed: scans cannot be read")
    version, languages = (
        subprocess.run([program, option], capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603 - found in PATH
        for option in ("--version", "--list-langs")
    )
    installed = set(languages.split("\n")[1:])
    required = settings.READING_LIMITS.languages.split("+")
    observed = f"{version.split(chr(10))[0]}, languages {', '.join(sorted(installed))}"
    if missing := [name for name in required if name not in installed]:
        raise StepFailed(f"{observed}; not installed: {', '.join(missing)}")
    return observed


@SCRIPT.step(
    "Query the database.", "It answers, and keeps confirmed transactions after a power failure."
)
def _check_database() -> str:
    if connection.vendor == "sqlite":
        journal, synchronous, version = (
            query_value(sql)
            for sql in ("PRAGMA journal_mode", "PRAGMA synchronous", "SELECT sqlite_version()")
        )
        observed = f"SQLite {version}, journal_mode {journal}, synchronous {synchronous}"
        is_durable = (journal, synchronous) == ("wal", "2")
    else:
        names = ("fsync", "full_page_writes", "TimeZone")
        values = {name: query_value(f"SHOW {name}") for name in names}
        listed = ", ".join(f"{name} {value}" for name, value in values.items())
        observed = f"{query_value('SELECT version()')}; {listed}"
        is_durable = "off" not in values.values()
    if not is_durable:
        raise StepFailed(f"{observed}: a power failure may lose confirmed transactions")
    return observed


def query_value(sql: str) -> str:
    """Return the first value of the first row of a query, as text."""
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return str(cursor.fetchone()[0])


@SCRIPT.step("Compare the schema of the database.", "All migrations of this release are applied.")
def _check_migrations() -> str:
    loader = MigrationLoader(connection)
    missing = sorted(loader.graph.nodes.keys() - loader.applied_migrations.keys())
    if missing:
        raise StepFailed(_abbreviate([f"{app}.{name} is missing" for app, name in missing]))
    return f"{len(loader.applied_migrations)} migrations are applied, none is missing"


@SCRIPT.step(
    "Compare the triggers of the ledger.", "All triggers exist, are enabled and are unchanged."
)
def _check_triggers() -> str:
    if missing := append_only.find_missing_triggers(connection):
        raise StepFailed(f"missing or changed: {', '.join(missing)}")
    expected = append_only.trigger_tables(connection.vendor)
    return f"{len(expected)} triggers are as in this release"


@SCRIPT.step(
    "Run all system checks, also those for deployment.", "No errors. A person judges warnings."
)
def _check_system() -> str:
    messages = [
        message
        for message in checks.run_checks(
            include_deployment_checks=True, databases=[DEFAULT_DB_ALIAS]
        )
        if not message.is_silenced()
    ]
    observed = "\n".join(f"({message.id}) {message.msg}" for message in messages)
    if any(message.is_serious() for message in messages):
        raise StepFailed(observed)
    if messages:
        raise NeedsJudgement(observed)
    return "no messages"


@SCRIPT.step("Read the mode of operation.", "DEBUG is off, and HTTPS_ONLY is on.")
def _check_mode() -> str:
    observed = f"DEBUG {settings.DEBUG}, HTTPS_ONLY {settings.HTTPS_ONLY}"
    if settings.DEBUG or not settings.HTTPS_ONLY:
        raise StepFailed(f"{observed}: this mode is for trials, not for production")
    return observed


@SCRIPT.step(
    "Read the keys of the ledger.",
    "A public key is in force. A host that signs has its private key.",
)
def _check_keys() -> str:
    published = keys.read_published_keys()
    if not published:
        raise StepFailed("there is no key: nothing is signed. `manage.py audit_keys create`")
    observed = f"{len(published)} public, in force {published[-1].verifier.text}"
    if not keys.has_private_key():
        raise NeedsJudgement(f"{observed}; this host has no private key and signs nothing")
    mode = stat.filemode(keys.get_private_file().stat().st_mode)
    return f"{observed}; the private key has the mode {mode}"


@SCRIPT.step(
    "Find where the newest checkpoint is stored.",
    "In an anchor that this installation cannot rewrite.",
)
def _check_anchors() -> str:
    last = ledger_status.get_ledger_status().signed
    if last is None:
        raise NeedsJudgement("nothing is signed yet")
    anchored = ", ".join(f"{each.anchor} ({each.place})" for each in last.held) or "no anchor yet"
    observed = f"the checkpoint of {last.size:,} entries is stored in {anchored}"
    oldest = timezone.now() - timedelta(seconds=settings.AUDIT_UNANCHORED_SECONDS)
    if overdue := [str(each) for each in anchors.list_unanchored() if each.since < oldest]:
        raise StepFailed(f"{observed}; {'; '.join(overdue)}")
    weaknesses = [anchor.weakness() for anchor in anchors.list_configured_anchors()]
    if all(weaknesses):
        raise NeedsJudgement(f"{observed}; no anchor is independent: {' '.join(weaknesses)}")
    return observed


@SCRIPT.step("Read the end of the ledger.", "It can be read. Keep it for later comparison.")
def _check_ledger() -> str:
    entries, head = queries.get_last_entry() or (0, "none")
    return f"trail {settings.AUDIT_TRAIL}: {entries:,} entries, head {head}"


@SCRIPT.step("Find recorded differences between clocks.", "None, in comparison with a time server.")
def _check_clock() -> str:
    if skews := clock.list_excessive_skews():
        raise StepFailed("; ".join(map(str, skews)))
    observed = f"stored in {settings.TIME_ZONE}; no difference is recorded"
    if not (settings.NTP_SERVER or settings.ANCHOR_TSA):
        raise NeedsJudgement(f"{observed}, but no time server is configured (NTP_SERVER)")
    return observed


@SCRIPT.step(
    "Read the free space on the disks.", "At least READY_FREE_MB for the archive and the spool."
)
def _check_disk_space() -> str:
    free = [
        f"{name} {disk_space.get_free_bytes(name) // 1_000_000:,} MB"
        for name in disk_space.list_folders().values()
    ]
    if low := disk_space.describe_low_space():
        raise StepFailed(low)
    return f"free: {', '.join(free)}"


@SCRIPT.step(
    "Read the owners and permissions of the folders.", "Not writable for all users of the host."
)
def _check_folders() -> str:
    lines, writable = [], []
    for name in FOLDER_SETTINGS:
        path = Path(getattr(settings, name))
        if not path.is_dir():
            lines.append(f"{name} {path}: not created yet")
            continue
        status = path.stat()
        lines.append(f"{name} {path}: {path.owner()}, {stat.filemode(status.st_mode)}")
        if status.st_mode & stat.S_IWOTH:
            writable.append(lines[-1])
    if writable:
        raise StepFailed(f"writable for all users: {'; '.join(writable)}")
    return "\n".join(lines)


def _abbreviate(names: list[str]) -> str:
    rest = len(names) - MAX_LISTED
    return "; ".join(names[:MAX_LISTED]) + (f"; and {rest:,} more" if rest > 0 else "")
