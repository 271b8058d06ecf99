"""Checks the settings of ingestion.

Each message of `manage.py check` has a stable id, names the setting and says how to correct it.
Settings of the queue are checked in `queue_checks`, of alarms in `alert_checks`, and of buckets in
`bucket_checks`.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, register

from ingestion.reading.ocr import language_data
from ingestion.rules import document_types
from ingestion.storage.virus_scanner import get_scanner

# The path of a socket has at most 107 bytes (unix(7)). It ends like
# "/siteledger-host-4194304-abcdefgh" and "/pymp-abcdefgh/listener-abcdefgh".
MAX_TEMPORARY_FOLDER_BYTES = 107 - 33 - 32

POSITIVE_WORK_SETTINGS = (
    "WORKERS", "CHUNK_SIZE", "SHIFT_SECONDS", "HEARTBEAT_SECONDS",
    "MAX_UPLOAD_FILES", "MAX_DOCUMENT_MB", "OPEN_UPLOADS",
)  # fmt: skip
POSITIVE_ADMISSION_SETTINGS = (
    "MAX_MANIFEST_MB", "WEB_THREADS", "API_BAD_TOKENS_PER_MINUTE", "READY_QUEUE_SECONDS",
    "READY_FREE_MB", "MAX_CHUNKS", "SITE_MAX_CHUNKS", "DISPATCH_DEADLINE_SECONDS",
    "SITE_STALL_SECONDS",
)  # fmt: skip


@register
def check_settings(**options: Any) -> list[CheckMessage]:
    """Return the messages of all checks in this module."""
    return [message for check in _CHECKS for message in check()]


def _check_counts() -> Iterator[CheckMessage]:
    for name in POSITIVE_WORK_SETTINGS:
        if getattr(settings, name) < 1:
            yield Error(f"{name} has to be at least 1.", id="ingestion.E001")
    for name in POSITIVE_ADMISSION_SETTINGS:
        if getattr(settings, name) < 1:
            yield Error(f"{name} has to be at least 1.", id="ingestion.E040")
    packet = settings.MAX_UPLOAD_FILES * settings.MAX_DOCUMENT_MB
    if not packet <= settings.OPEN_UPLOAD_MB <= settings.OPEN_UPLOAD_MB_IN_ALL:
        yield Error(
            f"OPEN_UPLOAD_MB has to be at least {packet} (MAX_UPLOAD_FILES times MAX_DOCUMENT_MB), "
            "and OPEN_UPLOAD_MB_IN_ALL at least OPEN_UPLOAD_MB.",
            hint="Leave them out: 4000 and 20000.",
            id="ingestion.E067",
        )
    if settings.REVIEW_WORKING_DAYS < 1:
        yield Error("REVIEW_WORKING_DAYS has to be at least 1.", id="ingestion.E064")


def _check_mail_and_waits() -> Iterator[CheckMessage]:
    if settings.GUESS_SECONDS < 0 or settings.DIGEST_MINUTES < 0:
        yield Error(
            "GUESS_SECONDS and DIGEST_MINUTES must not be negative.",
            hint="0 switches it off.",
            id="ingestion.E060",
        )
    if settings.EMAIL_USE_TLS and settings.EMAIL_USE_SSL:
        yield Error(
            "EMAIL_USE_TLS and EMAIL_USE_SSL exclude each other.",
            hint="TLS for STARTTLS (port 587), SSL for TLS from the first byte (port 465).",
            id="ingestion.E061",
        )
    if settings.SITE_URL and not settings.SITE_URL.startswith(("https://", "http://")):
        yield Error(
            f"SITE_URL={settings.SITE_URL} is not the address of a site.",
            hint="Write https://ledger.example.org.",
            id="ingestion.E062",
        )
    if settings.EMAIL_HOST and settings.EMAIL_TIMEOUT < 1:
        yield Error(
            "EMAIL_TIMEOUT has to be at least 1: a mail server that hangs would stop a worker.",
            id="ingestion.E063",
        )


def _check_limits() -> Iterator[CheckMessage]:
    limits, reading = settings.INGEST_LIMITS, settings.READING_LIMITS
    counts = {
        "FETCHERS": limits.fetchers,
        "SETTLERS": limits.settlers,
        "FETCH_TRIES": limits.retry.fetch_tries,
        "DOCUMENT_ATTEMPTS": limits.document_attempts,
    }
    for name, value in counts.items():
        if value < 1:
            yield Error(f"{name} has to be at least 1.", id="ingestion.E002")
    if reading.processes < 1:
        yield Error("PARSER_PROCESSES has to be at least 1.", id="ingestion.E002")


def _check_folders() -> Iterator[CheckMessage]:
    for name in ("ARCHIVE_DIR", "SPOOL_DIR", "PREVIEW_DIR"):
        folder = Path(getattr(settings, name))
        if folder.exists() and not folder.is_dir():
            yield Error(f"{name}={folder} is not a folder.", id="ingestion.E010")
    if Path(settings.ARCHIVE_DIR) == Path(settings.SPOOL_DIR):
        yield Error(
            "ARCHIVE_DIR and SPOOL_DIR are the same folder; the spool is emptied.",
            hint="Give each a folder of its own.",
            id="ingestion.E011",
        )
    if (length := len(os.fsencode(tempfile.gettempdir()))) > MAX_TEMPORARY_FOLDER_BYTES:
        yield Error(
            f"The temporary folder's path is too long for the parsers' sockets: {length} bytes.",
            hint=f"Set TMPDIR to a folder whose path has at most {MAX_TEMPORARY_FOLDER_BYTES}.",
            id="ingestion.E014",
        )


def _check_retries() -> Iterator[CheckMessage]:
    retry, breaker = settings.INGEST_LIMITS.retry, settings.BREAKER
    if retry.reschedule_seconds < 0 or retry.deadline_seconds < 0:
        yield Error(
            "RESCHEDULE_SECONDS and DOCUMENT_DEADLINE_SECONDS must not be negative.",
            id="ingestion.E020",
        )
    if breaker.failures < 1 or breaker.window_seconds <= 0 or breaker.cooldown_seconds <= 0:
        yield Error(
            "BREAKER_FAILURES, BREAKER_WINDOW_SECONDS and BREAKER_COOLDOWN_SECONDS are positive.",
            id="ingestion.E021",
        )
    if breaker.failures <= retry.fetch_tries:
        yield checks.Warning(
            "One document that its portal cannot serve would stop the portal's other documents.",
            hint="BREAKER_FAILURES has to exceed FETCH_TRIES.",
            id="ingestion.W020",
        )


def _check_batches() -> Iterator[CheckMessage]:
    for name in ("MAX_UNFINISHED_DOCUMENTS", "RETENTION_DAYS", "FINISHED_STAGES_MB"):
        if getattr(settings, name) < 0:
            yield Error(f"{name} may not be negative; 0 means never.", id="ingestion.E041")
    if settings.INGEST_LIMITS.retry.deadline_seconds > settings.DISPATCH_DEADLINE_SECONDS:
        yield checks.Warning(
            "A batch whose portal is down would end before the deadline of its documents.",
            hint="DISPATCH_DEADLINE_SECONDS should not be below DOCUMENT_DEADLINE_SECONDS.",
            id="ingestion.W040",
        )


def _check_languages() -> Iterator[CheckMessage]:
    languages = settings.READING_LIMITS.languages
    if not language_data.LANGUAGES.fullmatch(languages):
        yield Error(
            f"OCR_LANGUAGES={languages!r} is no list of languages joined by +.",
            hint="Set it to eng, or eng+deu.",
            id="ingestion.E013",
        )
    elif missing := [name for name in languages.split("+") if not language_data.is_installed(name)]:
        yield checks.Warning(
            "OCR_LANGUAGES names languages for which Tesseract has no data on this host: "
            f"{', '.join(missing)}. A worker on this host cannot read any document.",
            hint="Install the data (Debian: tesseract-ocr-fra for fra), or remove it from "
            "OCR_LANGUAGES. On a host without workers, ignore this message.",
            id="ingestion.W013",
        )


def _check_reading() -> Iterator[CheckMessage]:
    if settings.READING_LIMITS.engine not in {"auto", "tesserocr", "pytesseract"}:
        yield Error(
            f"OCR_ENGINE={settings.READING_LIMITS.engine!r} is not known.",
            hint="Set it to auto, tesserocr or pytesseract.",
            id="ingestion.E012",
        )
    if settings.OCR_SECOND_ENGINE not in {"auto", "rapidocr", "none"}:
        yield Error(
            f"OCR_SECOND_ENGINE={settings.OCR_SECOND_ENGINE!r} is not known.",
            hint="Set it to auto, rapidocr or none.",
            id="ingestion.E060",
        )
    if settings.OCR_SECOND_ENGINE == "rapidocr" and not settings.IS_SECOND_ENGINE_INSTALLED:
        yield Error(
            "The second OCR engine is not installed.",
            hint="Run `.venv/bin/python -m pip install --require-hashes -r requirements-ocr.txt`, "
            "or set OCR_SECOND_ENGINE=none.",
            id="ingestion.E061",
        )
    yield from _check_languages()
    if settings.READING_LIMITS.trusted_issuers:
        from ingestion.reading.pdf.trusted_issuers import (  # noqa: PLC0415 - loads asn1crypto
            TrustedIssuersError,
            read_issuers,
        )

        try:
            read_issuers(settings.READING_LIMITS.trusted_issuers)
        except TrustedIssuersError as error:
            yield Error(
                f"TRUSTED_ISSUERS_FILE: {error}.",
                hint="Name a PEM file of certificates, or leave it empty: then QA reviews every "
                "digital signature.",
                id="ingestion.E017",
            )


def _check_scanner() -> Iterator[CheckMessage]:
    try:
        get_scanner()
    except ValueError as error:
        yield Error(
            f"CLAMD: {error}.",
            hint="Write unix:/run/clamav/clamd.ctl or tcp://host:3310; empty means no scanner.",
            id="ingestion.E015",
        )


def _check_types() -> Iterator[CheckMessage]:
    if document_types.TYPES_FILE_FAULT:
        yield Error(
            f"{document_types.TYPES_FILE_SETTING}: {document_types.TYPES_FILE_FAULT}",
            hint="Correct the file (docs/document-types.md), then start again.",
            id="ingestion.E016",
        )


def _check_portals() -> Iterator[CheckMessage]:
    if settings.INGEST_LIMITS.bytes_per_second < 1:
        yield Error("PORTAL_BYTES_PER_SECOND has to be at least 1.", id="ingestion.E030")
    folder = settings.PORTAL_SECRETS_DIR
    if folder and not Path(folder).is_dir():
        yield Error(f"PORTAL_SECRETS_DIR={folder} is not a folder.", id="ingestion.E031")
    for name, value in settings.PORTAL_SECRETS.items():
        if name.startswith(("PORTAL_CA_", "PORTAL_CERT_")) and not Path(value).is_file():
            yield Error(
                f"{name}={value} is not a file.",
                hint="Give the path of a PEM file that the workers may read.",
                id="ingestion.E032",
            )


_CHECKS: tuple[Callable[[], Iterator[CheckMessage]], ...] = (
    _check_counts,
    _check_mail_and_waits,
    _check_limits,
    _check_folders,
    _check_retries,
    _check_batches,
    _check_reading,
    _check_scanner,
    _check_types,
    _check_portals,
)
