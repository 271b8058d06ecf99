"""Tests that a system check names each invalid setting."""

import dataclasses
import tempfile
from pathlib import Path

import pytest
from django.conf import settings as configured

from config import checks as site_checks
from ingestion import checks
from ingestion.core.breaker import BreakerSettings
from ingestion.core.retry import RetryRules
from ingestion.dispatch import queue_checks

CHECKS = (
    checks.check_settings,
    queue_checks.check_cluster,
    queue_checks.check_broker_options,
    queue_checks.check_shared_resources,
    queue_checks.check_leases,
    queue_checks.check_database,
)


def ids(*given):
    return [message.id for check in given or CHECKS for message in check()]


def test_the_default_settings_pass_all_checks():
    assert ids() == []
    assert ids(site_checks.check_settings) == []


def test_two_kinds_of_tls_at_once_are_refused(settings):
    settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = True
    assert ids() == ["ingestion.E061"]


def test_a_temporary_folder_with_too_long_a_path_is_refused(monkeypatch):
    # What multiprocessing makes in a host's folder, at its longest.
    rest = "/siteledger-host-4194304-abcdefgh/pymp-abcdefgh/listener-abcdefgh"
    longest = 107 - len(rest)
    monkeypatch.setattr(tempfile, "tempdir", "/" + "a" * (longest - 1))
    assert ids() == []
    monkeypatch.setattr(tempfile, "tempdir", "/" + "a" * longest)
    assert ids() == ["ingestion.E014"]


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("WORKERS", 0, "ingestion.E001"),
        ("CHUNK_SIZE", 0, "ingestion.E001"),
        ("MAX_DOCUMENT_MB", -1, "ingestion.E001"),
        ("WEB_THREADS", 0, "ingestion.E040"),
        ("READY_FREE_MB", 0, "ingestion.E040"),
        ("GUESS_SECONDS", -1, "ingestion.E060"),
        ("DIGEST_MINUTES", -1, "ingestion.E060"),
        ("SITE_URL", "ledger.example.org", "ingestion.E062"),
        ("EMAIL_TIMEOUT", 0, "ingestion.E063"),
        (
            "INGEST_LIMITS",
            dataclasses.replace(configured.INGEST_LIMITS, fetchers=0),
            "ingestion.E002",
        ),
        (
            "READING_LIMITS",
            dataclasses.replace(configured.READING_LIMITS, processes=0),
            "ingestion.E002",
        ),
        ("Q_CLUSTER", configured.Q_CLUSTER | {"daemonize_workers": True}, "ingestion.E003"),
        ("Q_CLUSTER", configured.Q_CLUSTER | {"retry": 60}, "ingestion.E004"),
        ("Q_CLUSTER", configured.Q_CLUSTER | {"guard_cycle": 0.7}, "ingestion.E005"),
        ("REDIS_URL", "localhost:6379", "ingestion.E006"),
        ("CLAMD", "localhost:3310", "ingestion.E015"),
        ("CLAMD", "unix:", "ingestion.E015"),
        ("CLAMD", "tcp://localhost", "ingestion.E015"),
        ("CLAMD", "tcp://localhost:none", "ingestion.E015"),
        (
            "INGEST_LIMITS",
            dataclasses.replace(configured.INGEST_LIMITS, bytes_per_second=0),
            "ingestion.E030",
        ),
        ("PORTAL_SECRETS_DIR", "/no/such/folder", "ingestion.E031"),
        ("PORTAL_SECRETS", {"PORTAL_CA_SITE_1001": "/no/such/file"}, "ingestion.E032"),
        ("LEASE_SECONDS", 20, "ingestion.E007"),
        ("MAX_CHUNKS", 0, "ingestion.E040"),
        ("SITE_MAX_CHUNKS", 0, "ingestion.E040"),
        ("DISPATCH_DEADLINE_SECONDS", 0.5, "ingestion.E040"),
        ("MAX_UNFINISHED_DOCUMENTS", -1, "ingestion.E041"),
        ("RETENTION_DAYS", -1, "ingestion.E041"),
        ("DISPATCH_DEADLINE_SECONDS", 3600.0, "ingestion.W040"),
        ("Q_CLUSTER", configured.Q_CLUSTER | {"queue_limit": 4}, "ingestion.E050"),
        ("Q_CLUSTER", configured.Q_CLUSTER | {"bulk": 10}, "ingestion.E051"),
        ("Q_CLUSTER", configured.Q_CLUSTER | {"max_attempts": 0}, "ingestion.E052"),
        ("Q_CLUSTER", configured.Q_CLUSTER | {"ack_failures": False}, "ingestion.E053"),
        ("Q_CLUSTER", configured.Q_CLUSTER | {"save_limit": 250}, "ingestion.E054"),
        ("Q_CLUSTER", configured.Q_CLUSTER | {"catch_up": True}, "ingestion.E055"),
        ("Q_CLUSTER", configured.Q_CLUSTER | {"sync": True}, "ingestion.E056"),
        ("WATCHDOG_SECONDS", 1, "ingestion.E059"),
        (
            "INGEST_LIMITS",
            dataclasses.replace(configured.INGEST_LIMITS, retry=RetryRules(deadline_seconds=-1)),
            "ingestion.E020",
        ),
        ("BREAKER", BreakerSettings(failures=9, cooldown_seconds=0), "ingestion.E021"),
        ("BREAKER", BreakerSettings(failures=4), "ingestion.W020"),
        ("SHIFT_SECONDS", 7200, "ingestion.W001"),
        (
            "READING_LIMITS",
            dataclasses.replace(configured.READING_LIMITS, engine="eyes"),
            "ingestion.E012",
        ),
        (
            "READING_LIMITS",
            dataclasses.replace(configured.READING_LIMITS, languages=""),
            "ingestion.E013",
        ),
        (
            "READING_LIMITS",
            dataclasses.replace(configured.READING_LIMITS, languages="eng,fra"),
            "ingestion.E013",
        ),
        (
            "READING_LIMITS",
            dataclasses.replace(configured.READING_LIMITS, languages="eng+tlh"),
            "ingestion.W013",
        ),
        (
            "READING_LIMITS",
            dataclasses.replace(configured.READING_LIMITS, trusted_issuers=Path("/nowhere.pem")),
            "ingestion.E017",
        ),
    ],
)
def test_an_invalid_setting_is_named(settings, name, value, expected):
    setattr(settings, name, value)
    assert expected in ids()


def test_languages_that_tesseract_has_no_data_for_are_named(settings):
    settings.READING_LIMITS = dataclasses.replace(
        settings.READING_LIMITS, languages="eng+tlh+script/Klingon"
    )
    (message,) = (each for check in CHECKS for each in check())
    assert "tlh, script/Klingon" in message.msg


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"transaction_mode": "IMMEDIATE", "timeout": 30},
        {"init_command": "PRAGMA journal_mode=WAL;", "timeout": 30},
        {"transaction_mode": "IMMEDIATE", "init_command": "PRAGMA journal_mode=WAL;"},
    ],
    ids=["Django's defaults", "no WAL", "DEFERRED", "five seconds"],
)
def test_sqlite_that_would_lose_work_is_refused(settings, monkeypatch, options):
    engine = {"ENGINE": "django.db.backends.sqlite3", "OPTIONS": options}
    monkeypatch.setitem(settings.DATABASES, "default", engine)
    assert ids() == ["ingestion.E008"]


@pytest.mark.parametrize("backend", ["locmem.LocMemCache", "dummy.DummyCache"])
def test_a_cache_of_a_single_process_is_refused(settings, backend):
    settings.CACHES = {"default": {"BACKEND": f"django.core.cache.backends.{backend}"}}
    assert ids() == ["ingestion.E057"]


def test_a_new_connection_for_each_poll_of_the_broker_is_refused(settings, monkeypatch):
    monkeypatch.setitem(settings.DATABASES["default"], "CONN_MAX_AGE", 0)
    assert ids() == ["ingestion.E058"]


def test_a_connection_pool_that_workers_would_share_is_refused(settings, monkeypatch):
    engine = {"ENGINE": "django.db.backends.postgresql", "OPTIONS": {"pool": True}}
    monkeypatch.setitem(settings.DATABASES, "default", engine)
    assert ids() == ["ingestion.E009"]


def test_a_file_in_the_place_of_a_folder_is_named(settings, tmp_path):
    (tmp_path / "archive").write_text("")
    settings.ARCHIVE_DIR = tmp_path / "archive"
    assert ids() == ["ingestion.E010"]


def test_archive_and_spool_may_not_be_one_folder(settings, tmp_path):
    settings.ARCHIVE_DIR = settings.SPOOL_DIR = tmp_path
    assert ids() == ["ingestion.E011"]


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("SECRET_KEY", "", "config.E001"),
        ("ALLOWED_HOSTS", [], "config.E002"),
        ("AUDIT_TRAIL", " ", "config.E003"),
        ("AUDIT_UNANCHORED_SECONDS", 0, "config.E004"),
        ("AUDIT_REVIEW_DAYS", 0, "config.E005"),
    ],
)
def test_a_missing_required_setting_is_named(settings, name, value, expected):
    setattr(settings, name, value)
    assert ids(site_checks.check_settings) == [expected]
