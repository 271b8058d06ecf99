"""Renders the documents of word processors as PDF, with LibreOffice in an isolated process.

The document comes from others, and LibreOffice is a large program, so it runs in namespaces of its
own (bubblewrap): it has no network, sees none of this host's files but programs, fonts and the one
document, and ends together with the parser process that started it. Macros are disabled, linked
content is not loaded, and time, memory and the size of what it writes are limited. If the process
cannot be isolated in this way, nothing is rendered.

A rendering that fails is repeated with a document of our own: if that one fails too, the fault is
in this installation and not in the file.
"""

import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ingestion.reading.limits import ReadingLimits
from ingestion.reading.results import MediaType, Unreadable

BUBBLEWRAP = Path("/usr/bin/bwrap")
PRLIMIT = Path("/usr/bin/prlimit")  # of util-linux, which every Debian system has
OFFICE_SUFFIXES = {MediaType.DOCX: ".docx", MediaType.ODT: ".odt", MediaType.RTF: ".rtf"}
# Directories and files that the program needs. All of them are read-only for it.
VISIBLE_PATHS = (
    "/usr", "/lib", "/lib64", "/bin", "/etc/fonts", "/etc/libreoffice", "/etc/alternatives",
    "/etc/ld.so.cache", "/var/cache/fontconfig",
)  # fmt: skip
MAX_OUTPUT_BYTES = 100_000_000  # of a file that the program writes
MAX_TEMPORARY_BYTES = 200_000_000  # of its temporary files, which are in memory
CLOCK_SECONDS_PER_CPU_SECOND = 3  # a busy machine may take so much longer
MAX_PACKAGE_MEMBERS = 5_000  # of a DOCX or ODT file, which are ZIP archives
MAX_PACKAGE_BYTES = 300_000_000  # of all members of such a file, uncompressed
# Never run macros, never load linked content, and never ask (org.openoffice.Office.*).
_SETTINGS = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Common/Security/Scripting">
<prop oor:name="DisableMacrosExecution" oor:op="fuse"><value>true</value></prop>
<prop oor:name="MacroSecurityLevel" oor:op="fuse"><value>3</value></prop>
<prop oor:name="BlockUntrustedRefererLinks" oor:op="fuse"><value>true</value></prop></item>
<item oor:path="/org.openoffice.Office.Writer/Content/Update">
<prop oor:name="Link" oor:op="fuse"><value>0</value></prop></item>
</oor:items>
"""
_TEST_DOCUMENT = b"{\\rtf1\\ansi A document of SiteLedger.\\par}"


@dataclass(frozen=True, slots=True)
class ConverterFault:
    """Says why this installation cannot render any document, for the log and for operations."""

    reason: str


def examine_office_file(path: Path, media_type: MediaType) -> frozenset[str] | Unreadable:
    """Return the flags of a document as in `DocumentReading.flags`, or why it is refused."""
    if media_type is not MediaType.RTF:
        return _examine_package(path)
    has_objects = re.search(rb"\\obj(?:data|emb|ocx)", path.read_bytes())
    return frozenset({"embedded-file"} if has_objects else ())


def render_office(
    path: Path, media_type: MediaType, target: Path, limits: ReadingLimits
) -> str | ConverterFault | Unreadable:
    """Render a document as PDF into the file `target`, and return the name of the tool.

    It runs in a parser process.
    """
    if fault := find_missing_program(limits):
        return fault
    failure = _render(path, OFFICE_SUFFIXES[media_type], target, limits)
    if not failure:
        return get_tool(limits.office_program)
    if fault := check_converter(target.parent, limits):
        return fault
    return Unreadable("CONVERSION_FAILED", {"reason": failure})


def find_missing_program(limits: ReadingLimits) -> ConverterFault | None:
    """Return which program is not installed, or None."""
    for program, package in ((limits.office_program, "LibreOffice"), (BUBBLEWRAP, "bubblewrap")):
        if not Path(program).is_file():
            return ConverterFault(f"{package} is not installed: there is no {program}")
    return None


def check_converter(scratch: Path, limits: ReadingLimits) -> ConverterFault | None:
    """Render a document of our own in isolation. Returns why that is impossible, or None."""
    if fault := find_missing_program(limits):
        return fault
    with tempfile.TemporaryDirectory(dir=scratch, prefix="office-test-") as folder:
        document = Path(folder) / "test"
        document.write_bytes(_TEST_DOCUMENT)
        failure = _render(document, ".rtf", Path(folder) / "test.pdf", limits)
    return ConverterFault(failure) if failure else None


@cache
def get_tool(program: str) -> str:
    """Return name and version of the program, as it says itself."""
    try:
        ended = subprocess.run(  # noqa: S603 - the argument is our own
            [program, "--version"], capture_output=True, check=False, timeout=20, text=True
        )
    except (OSError, subprocess.TimeoutExpired):
        return "LibreOffice"
    version = re.match(r"LibreOffice [\w.]+", ended.stdout)
    return version[0] if version else "LibreOffice"


def make_sandbox(folder: Path, source: Path, name: str) -> list[str]:
    """Return the command that runs a program in isolation. Its arguments are appended.

    The program sees the file `source` as `/in/NAME`, and may write to `folder` as `/work`.
    """
    command = [
        str(BUBBLEWRAP), "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
        "--clearenv", "--setenv", "PATH", "/usr/bin:/bin", "--setenv", "HOME", "/tmp",  # noqa: S108
        "--setenv", "LANG", "C.UTF-8", "--setenv", "SAL_USE_VCLPLUGIN", "svp",
    ]  # fmt: skip
    for path in VISIBLE_PATHS:
        command += ["--ro-bind-try", path, path]
    command += ["--proc", "/proc", "--dev", "/dev"]
    command += ["--size", str(MAX_TEMPORARY_BYTES), "--tmpfs", "/tmp"]  # noqa: S108 - its own
    command += ["--ro-bind", str(source), f"/in/{name}", "--bind", str(folder), "/work"]
    return [*command, "--remount-ro", "/", "--chdir", "/work"]


def _render(path: Path, suffix: str, target: Path, limits: ReadingLimits) -> str:
    """Render a document in isolation. Returns why it failed, or ""."""
    seconds = max(1, round(limits.office_seconds))
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="office-") as name:
        folder = Path(name)
        (folder / "profile" / "user").mkdir(parents=True)
        (folder / "profile" / "user" / "registrymodifications.xcu").write_text(_SETTINGS)
        command = [
            *make_sandbox(folder, path, f"source{suffix}"),
            str(PRLIMIT), f"--cpu={seconds}", f"--fsize={MAX_OUTPUT_BYTES}", "--core=0",
            f"--as={limits.memory_bytes}",
            limits.office_program, "--headless", "--norestore", "--nologo", "--nolockcheck",
            "-env:UserInstallation=file:///work/profile",
            "--convert-to", "pdf:writer_pdf_Export", "--outdir", "/work/out", f"/in/source{suffix}",
        ]  # fmt: skip
        try:
            ended = subprocess.run(  # noqa: S603 - the arguments are our own
                command, stdin=subprocess.DEVNULL, capture_output=True, check=False,
                timeout=seconds * CLOCK_SECONDS_PER_CPU_SECOND,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"it took more than {seconds} seconds"
        except OSError as error:
            return f"the program could not be started: {error.strerror}"
        output = folder / "out" / "source.pdf"
        if not output.is_file() or output.is_symlink() or not output.stat().st_size:
            errors = ended.stderr[-300:].decode(errors="replace").strip()
            return f"no PDF was written (exit code {ended.returncode}): {errors}"
        shutil.move(output, target)
    return ""


def _examine_package(path: Path) -> frozenset[str] | Unreadable:
    """Return the flags of a DOCX or ODT file by the names of its members, or why it is refused."""
    try:
        with zipfile.ZipFile(path) as package:
            members = package.infolist()
            size = sum(member.file_size for member in members)
            if len(members) > MAX_PACKAGE_MEMBERS or size > MAX_PACKAGE_BYTES:
                return Unreadable("CONVERSION_FAILED", {"reason": f"it unpacks to {size:,} bytes"})
            if any(member.flag_bits & 1 for member in members) or _is_encrypted(package):
                return Unreadable("ENCRYPTED_DOCUMENT")
            return frozenset(_find_flags(package))
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError):
        return Unreadable("CORRUPT_DOCUMENT")


def _is_encrypted(package: zipfile.ZipFile) -> bool:
    """Return whether the members of an ODT file are encrypted (OpenDocument 1.3, part 2, 3.4)."""
    name = "META-INF/manifest.xml"
    return name in package.namelist() and b"encryption-data" in package.read(name)


def _find_flags(package: zipfile.ZipFile) -> Iterator[str]:
    for name in package.namelist():
        lowered = name.lower()
        if lowered.endswith("vbaproject.bin") or lowered.startswith(("basic/", "scripts/")):
            yield "macros"
        if "/embeddings/" in lowered or "/activex/" in lowered or lowered.startswith("object "):
            yield "embedded-file"
        if lowered.endswith(".rels") and re.search(
            rb"(?:attachedTemplate|oleObject|frame|subDocument)\"[^>]*TargetMode=\"External\"",
            package.read(name),
        ):
            yield "remote"
