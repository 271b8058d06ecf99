"""Defines all settings. This module is the only reader of the environment.

`.env.example` documents the settings that operators can change. Each value that can be wrong has a
system check with an id.
"""

import logging
import os
import sys
import tempfile
from collections import ChainMap
from importlib.util import find_spec
from pathlib import Path

import environ

from config.environment import read_secret_files
from ingestion.core.breaker import BreakerSettings
from ingestion.core.limits import Limits
from ingestion.core.retry import RetryRules
from ingestion.reading.limits import ReadingLimits

BASE_DIR = Path(__file__).resolve().parent.parent
SOFTWARE_VERSION = "0.1.0"  # stamped on every ledger entry

env = environ.Env()
env.read_env(BASE_DIR / ".env")
env.ENVIRON = ChainMap(read_secret_files(os.environ), os.environ)

DEBUG = env.bool("DEBUG", default=False)
# No secret has a working default outside DEBUG: config.E001 refuses an empty one.
SECRET_KEY = env.str("SECRET_KEY", default="only-for-development" if DEBUG else "")
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1"] if DEBUG else [])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])

DATA_DIR = env.path("DATA_DIR", default=str(BASE_DIR / "var"))
ARCHIVE_DIR = env.path("ARCHIVE_DIR", default=str(DATA_DIR("archive")))
SPOOL_DIR = env.path("SPOOL_DIR", default=str(DATA_DIR("spool")))
PREVIEW_DIR = Path(env.str("PREVIEW_DIR", default=str(DATA_DIR("previews"))))
DATA_DIR, ARCHIVE_DIR, SPOOL_DIR = Path(DATA_DIR), Path(ARCHIVE_DIR), Path(SPOOL_DIR)
DATA_DIR.mkdir(parents=True, exist_ok=True)  # SQLite creates its file, but not the folder

INSTALLED_APPS = [
    "web",
    "qualification",
    "ingestion",
    "sites",
    "audit",
    "config.apps.SiteLedgerAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_otp",
    "django_otp.plugins.otp_totp",
    "django_otp.plugins.otp_static",
    "django_q",
    "csp",
    "ninja",
]

MIDDLEWARE = [
    "audit.ledger.middleware.OriginMiddleware",
    "api.http.middleware.ApiMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "web.shell.response_headers.ResponseHeaders",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "web.shell.request_limits.RequestBodyLimit",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "web.account.session_limits.SessionLimits",
    "web.account.auditors.ReadOnlyAuditors",
    "web.account.required_actions.RequiredActions",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "web.shell.navigation.list_navigation_links",
            ],
        },
    },
]

# --- database -------------------------------------------------------------------------------

DATABASES = {
    "default": env.db_url("DATABASE_URL", default=f"sqlite:///{DATA_DIR / 'siteledger.sqlite3'}")
}
# Reconnecting on every operation makes the ORM broker thirty times slower (django-q2 docs of
# CONN_MAX_AGE; measured in the design's dispatch page).
DATABASES["default"] |= {"CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"]["ENGINE"] = "config.sqlite3"
    DATABASES["default"]["OPTIONS"] = {
        # Write locks are taken at BEGIN, so that two writers queue instead of failing half-way.
        "transaction_mode": "IMMEDIATE",
        "timeout": 30,  # seconds
        # FULL: an entry that a person has seen survives a power failure.
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
    }
else:
    # Without these limits, a peer that disappears would block a worker for up to 15 minutes.
    DATABASES["default"]["OPTIONS"] = {
        "connect_timeout": 5,  # seconds, as the next two
        "keepalives_idle": 5,
        "keepalives_interval": 2,
        "keepalives_count": 3,
        "tcp_user_timeout": 8000,  # milliseconds
    } | DATABASES["default"].get("OPTIONS", {})
# PostgreSQL: the role that owns the tables and migrates. DATABASE_URL then has the role of the
# application.
DATABASE_OWNER = env.db_url("DATABASE_OWNER_URL") if env.str("DATABASE_OWNER_URL", "") else {}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CACHES = {
    # All processes of a host share it: the statistics of django-q2's cluster need that.
    "default": {
        "BACKEND": "django.core.cache.backends.filebased.FileBasedCache",
        "LOCATION": DATA_DIR / "cache",
    }
}

# --- people ---------------------------------------------------------------------------------

AUTH_USER_MODEL = "clinical_sites.User"
AUTHENTICATION_BACKENDS = ["sites.backends.LockoutBackend", "sites.backends.People"]
PASSWORD_HASHERS = [
    f"django.contrib.auth.hashers.{name}"
    for name in (
        "Argon2PasswordHasher",
        "PBKDF2PasswordHasher",
    )  # the second verifies older passwords
]
PASSWORD_LENGTH = env.int("PASSWORD_LENGTH", default=12)  # minimum of new passwords
PASSWORD_DAYS = env.int("PASSWORD_DAYS", default=0)  # until a password expires; 0: never
PASSWORD_BREACH_SERVICE = env.str("PASSWORD_BREACH_SERVICE", default="")  # "": none
ACCOUNT_LINK_HOURS = env.int("ACCOUNT_LINK_HOURS", default=24)  # validity of a password link
PASSWORD_RESET_TIMEOUT = ACCOUNT_LINK_HOURS * 3600  # Django's setting, in seconds
APPROVAL_DAYS = env.int("APPROVAL_DAYS", default=14)  # until a request for approval expires
_RULES = "django.contrib.auth.password_validation"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"{_RULES}.MinimumLengthValidator", "OPTIONS": {"min_length": PASSWORD_LENGTH}},
    {"NAME": f"{_RULES}.UserAttributeSimilarityValidator"},
    {"NAME": f"{_RULES}.CommonPasswordValidator"},
    {"NAME": f"{_RULES}.NumericPasswordValidator"},
    {"NAME": "sites.accounts.passwords.GuessablePasswordValidator"},
    {"NAME": "sites.accounts.passwords.BreachedPasswordValidator"},
]
# Roles that require a code at sign-in (R21): groups, Administrators, Site coordinators.
OTP_REQUIRED_ROLES = env.list("OTP_REQUIRED_ROLES", default=[])
OTP_TOTP_ISSUER = env.str("OTP_TOTP_ISSUER", default="SiteLedger")  # as the app on a phone shows it
# `sites.accounts.lockout` counts wrong codes instead of django-otp.
OTP_TOTP_THROTTLE_FACTOR = OTP_STATIC_THROTTLE_FACTOR = 0

# The number of failed sign-ins until a lockout. `sites.accounts.lockout` defines what is counted.
LOCKOUT_FAILURES = env.int("LOCKOUT_FAILURES", default=5)  # for one user name
LOCKOUT_ADDRESS_FAILURES = env.int("LOCKOUT_ADDRESS_FAILURES", default=50)  # for one address
LOCKOUT_MINUTES = env.float("LOCKOUT_MINUTES", default=15.0)

SESSION_IDLE_MINUTES = env.float("SESSION_IDLE_MINUTES", default=15.0)
SESSION_HOURS = env.float("SESSION_HOURS", default=12.0)  # maximum length, even if active
SESSIONS_AT_A_TIME = env.int("SESSIONS_AT_A_TIME", default=3)  # of one person
SESSION_COOKIE_AGE = int(SESSION_HOURS * 3600)
ACCESS_REVIEW_DAYS = env.int("ACCESS_REVIEW_DAYS", default=90)  # from one review to the next

LOGIN_URL = "/login/"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/login/"

# --- pages ----------------------------------------------------------------------------------

LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"  # times are stored and shown in UTC
USE_I18N = True
LOCALE_PATHS = [BASE_DIR / "locale"]  # one catalogue per language for all packages
FORMAT_MODULE_PATH = ["config.formats"]
USE_TZ = True

STATIC_URL = "/static/"
STATIC_ROOT = env.str("STATIC_ROOT", default=str(DATA_DIR / "static"))
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = DEBUG
_ON_DISK = {
    "archive": "ingestion.storage.archive.FolderArchive",
    "spool": "ingestion.storage.spool.FolderSpool",
}


def _in_s3(name: str, **lock: object) -> dict[str, object]:
    """Return the storage of a bucket. boto3 finds its credentials itself."""
    options = {
        "bucket_name": env.str(f"{name}_S3_BUCKET"),
        "location": env.str(f"{name}_S3_PREFIX", default="").strip("/"),
        "endpoint_url": env.str(f"{name}_S3_ENDPOINT", default=""),
        "timeout_seconds": env.float(f"{name}_S3_TIMEOUT_SECONDS", default=30.0),
    }
    return {"BACKEND": f"ingestion.storage.buckets.Bucket{name.title()}", "OPTIONS": options | lock}


STORAGES: dict[str, dict[str, object]] = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
    **{name: {"BACKEND": backend} for name, backend in _ON_DISK.items()},
}
# The lock of a document in the bucket, counted from its arrival. The end of the study is not known
# then: `ingestion.storage.object_locks` extends the lock later.
ARCHIVE_S3_YEARS = env.int("ARCHIVE_S3_YEARS", default=env.int("RETENTION_YEARS", default=25))
if env.str("ARCHIVE_S3_BUCKET", default=""):
    STORAGES["archive"] = _in_s3(
        "ARCHIVE",
        years=ARCHIVE_S3_YEARS,
        mode=env.str("ARCHIVE_S3_MODE", default="COMPLIANCE").upper(),
    )
if env.str("SPOOL_S3_BUCKET", default=""):
    STORAGES["spool"] = _in_s3("SPOOL")

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
    }
}
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = True
# Plain HTTP is only for development. In production, a reverse proxy terminates TLS.
HTTPS_ONLY = env.bool("HTTPS_ONLY", default=not DEBUG)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = HTTPS_ONLY
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS_ONLY else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS_ONLY
# Probes come from the internal network over plain HTTP, and do not follow redirects.
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
BEHIND_PROXY = env.bool("BEHIND_PROXY", default=False)
if BEHIND_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

# Uploads are written to disk from the first byte, so that documents cannot fill the memory.
FILE_UPLOAD_HANDLERS = ["web.shell.request_limits.LimitedUploadHandler"]
MAX_UPLOAD_FILES = env.int("MAX_UPLOAD_FILES", default=40)
MAX_DOCUMENT_MB = env.int("MAX_DOCUMENT_MB", default=50)
# The limit of unfinished uploads of one person or token: open packets and drafts, and megabytes.
OPEN_UPLOADS = env.int("OPEN_UPLOADS", default=10)
OPEN_UPLOAD_MB = env.int("OPEN_UPLOAD_MB", default=4_000)
OPEN_UPLOAD_MB_IN_ALL = env.int("OPEN_UPLOAD_MB_IN_ALL", default=20_000)  # of all people and tokens
# The time for the detection of the type of an uploaded file. 0: only the file name is used.
GUESS_SECONDS = env.float("GUESS_SECONDS", default=15.0)
# Empty inputs of the form without JavaScript count too. The form itself checks the real limit.
DATA_UPLOAD_MAX_NUMBER_FILES = MAX_UPLOAD_FILES + 20

# --- email to site staff: digests of finished packets and of documents that need an action --------

SITE_URL = env.str("SITE_URL", default="")  # the beginning of links in email; "": no email
EMAIL_HOST = env.str("EMAIL_HOST", default="localhost")
EMAIL_PORT = env.int("EMAIL_PORT", default=25)
EMAIL_HOST_USER = env.str("EMAIL_HOST_USER", default="")
EMAIL_HOST_PASSWORD = env.str("EMAIL_HOST_PASSWORD", default="")
EMAIL_USE_TLS = env.bool("EMAIL_USE_TLS", default=False)
EMAIL_USE_SSL = env.bool("EMAIL_USE_SSL", default=False)
EMAIL_TIMEOUT = env.int("EMAIL_TIMEOUT", default=10)  # seconds
DEFAULT_FROM_EMAIL = env.str("DEFAULT_FROM_EMAIL", default="siteledger@localhost")
DIGEST_MINUTES = env.int("DIGEST_MINUTES", default=30)  # between two digests to one person; 0: none

# --- programs: /api/v1 and monitoring -------------------------------------------------------

MAX_MANIFEST_MB = env.int("MAX_MANIFEST_MB", default=16)  # about 50,000 documents
WEB_THREADS = env.int("WEB_THREADS", default=8)  # of one web server process; a quarter can wait
API_BAD_TOKENS_PER_MINUTE = env.int("API_BAD_TOKENS_PER_MINUTE", default=60)  # of one address
READY_QUEUE_SECONDS = env.int("READY_QUEUE_SECONDS", default=900)
READY_FREE_MB = env.int("READY_FREE_MB", default=500)

# --- work -----------------------------------------------------------------------------------

WORKERS = env.int("WORKERS", default=1)  # shifts that one host runs at a time
CHUNK_SIZE = env.int("CHUNK_SIZE", default=50)  # documents of one site that are leased together
MAX_CHUNKS = env.int("MAX_CHUNKS", default=2_000)  # in one batch; larger batches are refused
MAX_UNFINISHED_DOCUMENTS = env.int("MAX_UNFINISHED_DOCUMENTS", default=100_000)  # 0: no limit
DISPATCH_DEADLINE_SECONDS = env.float("DISPATCH_DEADLINE_SECONDS", default=86_400.0)
SITE_STALL_SECONDS = env.float("SITE_STALL_SECONDS", default=1_800.0)  # until a site is named
# Chunks that one shift holds at a time, and the same number of urgent chunks. 0: no limit.
SHIFT_MAX_CHUNKS = env.int("SHIFT_MAX_CHUNKS", default=16)
# Chunks of one site that run at a time on all hosts, and the same number of urgent chunks.
SITE_MAX_CHUNKS = env.int("SITE_MAX_CHUNKS", default=4)
SHIFT_SECONDS = env.int("SHIFT_SECONDS", default=600)  # after which a shift leases nothing new
LEASE_SECONDS = env.int("LEASE_SECONDS", default=45)
HEARTBEAT_SECONDS = env.int("HEARTBEAT_SECONDS", default=10)
RETENTION_DAYS = env.int(
    "RETENTION_DAYS", default=90
)  # of the chunks of finished batches; 0: no limit
FINISHED_STAGES_MB = env.int("FINISHED_STAGES_MB", default=4_000)  # kept for recovery; 0: none
WATCHDOG_SECONDS = env.int("WATCHDOG_SECONDS", default=15)  # until a wakeup counts as unanswered
BACKLOG_ALARM_SECONDS = env.int("BACKLOG_ALARM_SECONDS", default=900)  # of waiting for a worker
# The number of worker hosts. SCALE_MAX_HOSTS=0: no host is ever asked for.
SCALE_MIN_HOSTS = env.int("SCALE_MIN_HOSTS", default=1)
SCALE_MAX_HOSTS = env.int("SCALE_MAX_HOSTS", default=0)
SCALE_OUT_SECONDS = env.float("SCALE_OUT_SECONDS", default=30.0)  # full, until one more is wanted
SCALE_COOLDOWN_SECONDS = env.float("SCALE_COOLDOWN_SECONDS", default=120.0)
SCALE_IN_SECONDS = env.float("SCALE_IN_SECONDS", default=600.0)  # idle, until fewer are wanted
SCALE_COMMAND = env.str("SCALE_COMMAND", default="")
SCALE_WEBHOOK = env.str("SCALE_WEBHOOK", default="")

# --- review by people -------------------------------------------------------------------------

REVIEW_WORKING_DAYS = env.int("REVIEW_WORKING_DAYS", default=2)  # until a decision by QA is overdue
REVIEW_SIGN_RETURNS = env.bool("REVIEW_SIGN_RETURNS", default=False)  # decision 15

INGEST_LIMITS = Limits(
    fetchers=env.int("FETCHERS", default=16),
    settlers=env.int("SETTLERS", default=16),
    bytes_per_second=env.int("PORTAL_BYTES_PER_SECOND", default=16_000),
    max_bytes=MAX_DOCUMENT_MB * 1_000_000,
    document_attempts=env.int("DOCUMENT_ATTEMPTS", default=5),
    retry=RetryRules(
        fetch_tries=env.int("FETCH_TRIES", default=4),
        reschedule_seconds=env.float("RESCHEDULE_SECONDS", default=5.0),
        deadline_seconds=env.float("DOCUMENT_DEADLINE_SECONDS", default=86_400.0),
    ),
)
BREAKER = BreakerSettings(
    failures=env.int("BREAKER_FAILURES", default=5),
    window_seconds=env.float("BREAKER_WINDOW_SECONDS", default=180.0),
    cooldown_seconds=env.float("BREAKER_COOLDOWN_SECONDS", default=300.0),
)
# The second OCR engine of a host: auto (if it is installed), rapidocr, or none.
OCR_SECOND_ENGINE = env.str("OCR_SECOND_ENGINE", default="auto")
IS_SECOND_ENGINE_INSTALLED = bool(find_spec("rapidocr") and find_spec("onnxruntime"))
OCR_SECOND_ENGINE_DIR = Path(
    env.str("OCR_SECOND_ENGINE_DIR", default="")
    or Path(tempfile.gettempdir(), f"siteledger-ocr-{os.getuid()}")
)
READING_LIMITS = ReadingLimits(
    second_engine=OCR_SECOND_ENGINE_DIR
    if OCR_SECOND_ENGINE == "rapidocr"
    or (OCR_SECOND_ENGINE == "auto" and IS_SECOND_ENGINE_INSTALLED)
    else None,
    processes=env.int("PARSER_PROCESSES", default=2),
    max_bytes=MAX_DOCUMENT_MB * 1_000_000,
    engine=env.str("OCR_ENGINE", default="auto"),
    languages=env.str("OCR_LANGUAGES", default="eng"),
    # The program of LibreOffice. "": documents of word processors are not accepted.
    office_program=env.str("OFFICE_PROGRAM", default="/usr/bin/soffice"),
    # PEM file of the issuers that are trusted for signatures of PDFs. "": QA decides about each.
    trusted_issuers=Path(issuers)
    if (issuers := env.str("TRUSTED_ISSUERS_FILE", default=""))
    else None,
)

# `ingestion.rules.document_types` reads DOCUMENT_TYPES_FILE from the environment, because parser
# processes have no settings.

# Criteria of assessments, as NAME=VALUE, in addition to those of the truth file.
ASSESSMENT_CRITERIA = env.list("ASSESSMENT_CRITERIA", default=[])

# Decisions of QA about types since the last training, after which a model is trained at night.
LEARNING_DECISIONS = env.int("LEARNING_DECISIONS", default=25)

CLAMD = env.str("CLAMD", default="")  # "": no virus scanner

# Credentials of portals, by the names that `ingestion.sources.credentials` lists: secrets, or
# paths of files. They are never stored in the database.
PORTAL_SECRETS = {name: value for name, value in env.ENVIRON.items() if name.startswith("PORTAL_")}
PORTAL_SECRETS_DIR = env.str("PORTAL_SECRETS_DIR", default="")

# Wakeups reach the workers through the database, or through Redis if REDIS_URL is set. Both are
# equally safe.
REDIS_URL = env.str("REDIS_URL", default="")
# Waiting workers are notified of a wakeup by the database. Otherwise they find it when they poll.
WAKEUP_NOTIFICATIONS = env.bool("WAKEUP_NOTIFICATIONS", default=True)
Q_CLUSTER = {
    "name": "siteledger",
    # A server that does not respond must not delay a submission.
    **(
        {
            "redis": f"{REDIS_URL}{'&' if '?' in REDIS_URL else '?'}socket_timeout=3",
            "broker_class": "ingestion.dispatch.processes.wakeup_broker.RedisBroker",
        }
        if REDIS_URL
        else {
            "orm": "default",
            "broker_class": "ingestion.dispatch.processes.wakeup_broker.DatabaseBroker",
        }
    ),
    "workers": WORKERS,
    # Workers start parser processes, and daemonic processes cannot have children (ingestion.E003).
    "daemonize_workers": False,
    # A shift ends on its own. This timeout ends a shift that hangs. timeout + 3 must be a multiple
    # of guard_cycle, or django-q2 never kills a worker that hangs.
    "timeout": SHIFT_SECONDS + 297,
    # Leases guarantee that work is repeated. The broker must only not redeliver too early.
    "retry": (SHIFT_SECONDS + 297) * 4,
    "max_attempts": 1,
    "ack_failures": True,
    "queue_limit": 1,
    "bulk": 1,
    "poll": 0.5,
    "guard_cycle": 0.5,
    "recycle": 100,
    "max_rss": 1_500_000,  # kilobytes; a larger worker is replaced after its shift
    "save_limit": -1,
    "catch_up": False,
    "sync": False,
    "log_level": env.str("Q_LOG_LEVEL", default="WARNING"),
    "label": "Background tasks",
}

# --- the ledger: signing, checkpoints and anchors (docs/audit-format.md) --------------------------

AUDIT_TRAIL = env.str("AUDIT_TRAIL", default="siteledger")
AUDIT_EARLY_RELEASE = env.bool("AUDIT_EARLY_RELEASE", default=True)  # PostgreSQL only
AUDIT_ORIGIN = env.str(
    "AUDIT_ORIGIN", default=AUDIT_TRAIL
)  # the name in checkpoints, unique worldwide
AUDIT_KEY_FILE = Path(env.str("AUDIT_KEY_FILE", default=str(DATA_DIR / "keys" / "audit.pem")))
AUDIT_SIGN_AFTER = env.list(
    "AUDIT_SIGN_AFTER", default=["batch.completed", "batch.failed", "batch.cancelled"]
)
AUDIT_CHECKPOINT_ENTRIES = env.int("AUDIT_CHECKPOINT_ENTRIES", default=1_000)
AUDIT_CHECKPOINT_SECONDS = env.int("AUDIT_CHECKPOINT_SECONDS", default=60)
ANCHOR_DIR = Path(env.str("ANCHOR_DIR", default=str(DATA_DIR / "anchors")))
ANCHOR_TIMEOUT_SECONDS = env.float("ANCHOR_TIMEOUT_SECONDS", default=10.0)
ANCHOR_S3_BUCKET = env.str("ANCHOR_S3_BUCKET", default="")
ANCHOR_S3_PREFIX = env.str("ANCHOR_S3_PREFIX", default="")
ANCHOR_S3_ENDPOINT = env.str("ANCHOR_S3_ENDPOINT", default="")
ANCHOR_S3_YEARS = env.int("ANCHOR_S3_YEARS", default=25)  # EU 536/2014, article 58
ANCHOR_TSA = env.str("ANCHOR_TSA", default="")
ANCHOR_TSA_CERTIFICATES = env.str("ANCHOR_TSA_CERTIFICATES", default="")
AUDIT_CLOCK_SKEW_SECONDS = env.float("AUDIT_CLOCK_SKEW_SECONDS", default=2.0)
NTP_SERVER = env.str("NTP_SERVER", default="")
# `verify_audit` exits with 3 if entries have no independent anchor for longer than this.
AUDIT_UNANCHORED_SECONDS = env.int("AUDIT_UNANCHORED_SECONDS", default=3600)
# The user who started this process, for the entries of commands (ICH E6(R3) 4.2.2(a)).
OS_USER = env.str("SUDO_USER", default="") or env.str("USER", default=f"uid {os.getuid()}")
EXPORT_DIR = Path(env.str("EXPORT_DIR", default=str(DATA_DIR / "exports")))
# Folders for jobs. None: no such jobs are accepted, and this host runs none.
BACKUP_DIR = Path(folder) if (folder := env.str("BACKUP_DIR", default="")) else None
ASSESSMENT_DIR = Path(folder) if (folder := env.str("ASSESSMENT_DIR", default="")) else None
FHIR_EXPORT_HOURS = env.int("FHIR_EXPORT_HOURS", default=24)  # for which its files are offered
JOB_RETENTION_DAYS = env.int("JOB_RETENTION_DAYS", default=365)  # of ended jobs; 0: no limit
# The retention of documents after the end of their study: EU 536/2014, article 58.
RETENTION_YEARS = env.int("RETENTION_YEARS", default=25)
AUDIT_REVIEW_DAYS = env.int(
    "AUDIT_REVIEW_DAYS", default=30
)  # from one review of the audit trail to the next

# --- alarms and their recipients (docs/operations.md) ---------------------------------------------

ALERT_EMAILS = env.list("ALERT_EMAILS", default=[])
ALERT_WEBHOOK = env.str("ALERT_WEBHOOK", default="")
ALERT_WEBHOOK_SECRET_FILE = env.str("ALERT_WEBHOOK_SECRET_FILE", default="")
ALERT_AGAIN_HOURS = env.int("ALERT_AGAIN_HOURS", default=24)  # between two messages about one alarm
WORKER_SILENT_SECONDS = env.int("WORKER_SILENT_SECONDS", default=60)

# --- the log and traces (docs/logs.md) ------------------------------------------------------------

# json: one JSON object per line, for programs. text: readable lines.
LOG_FORMAT = env.str("LOG_FORMAT", default="text" if DEBUG or sys.stderr.isatty() else "json")
# The address of an OTLP/HTTP receiver, such as http://127.0.0.1:4318. "": no traces.
OTEL_EXPORTER_OTLP_ENDPOINT = env.str("OTEL_EXPORTER_OTLP_ENDPOINT", default="").rstrip("/")

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {
        "refusals": {"()": "config.logs.RefusedRequestFilter"},
    },
    "formatters": {
        "line": {
            "()": "config.logs.make_formatter",
            "style": LOG_FORMAT,
            "is_complete": DEBUG,
        }
    },
    "handlers": {
        "console": {
            "class": "logging.StreamHandler",
            "formatter": "line",
            "filters": ["refusals"],
        }
    },
    "root": {"handlers": ["console"], "level": env.str("LOG_LEVEL", default="INFO")},
    "loggers": {
        # Django's own handlers would write each line a second time.
        "django": {"handlers": []},
        "httpx2": {"level": "WARNING"},
        "httpcore2": {"level": "WARNING"},
        "django-q": {"level": Q_CLUSTER["log_level"]},
        "botocore": {"level": "WARNING"},
        "boto3": {"level": "WARNING"},
        "pypdf": {"level": "ERROR"},
        "django.server": {"level": "WARNING"},
    },
}
# Otherwise Python writes warnings to stderr itself.
logging.captureWarnings(capture=LOG_FORMAT == "json")
