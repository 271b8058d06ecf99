"""Makes the environment of a sandbox: this process's variables, without external services."""

import os
import re
from pathlib import Path

from django.conf import settings

from ingestion.reading.ocr.language_data import is_installed

# The names of settings for a file or folder, and for a service or person outside.
PATH_SETTING = re.compile(r"_(DIR|ROOT|FILE)$")
EXTERNAL_SETTING = re.compile(
    r"_(URL|BUCKET|ENDPOINT|TSA|CERTIFICATES|EMAILS|WEBHOOK|SERVER|ROLES)$|^CLAMD$"
)
# In which the demo reads scans, if their data is installed
DEMO_LANGUAGES = (
    "eng", "fra", "deu", "spa", "por", "ita", "nld", "pol", "jpn", "chi_sim", "kor", "rus",
)  # fmt: skip
_DOCUMENTED = re.compile(r"^#? ?([A-Z][A-Z0-9_]*)=", re.MULTILINE)  # in `.env.example`


def list_documented_settings() -> list[str]:
    """Return the names of all settings that `.env.example` documents."""
    return _DOCUMENTED.findall((settings.BASE_DIR / ".env.example").read_text(encoding="utf-8"))


def make_environment(folder: Path) -> dict[str, str]:
    """Return the environment with which programs of a sandbox in `folder` are started."""
    names = list_documented_settings()
    # Other variables with this prefix are credentials of portals.
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in names or not name.startswith("PORTAL_")
    }
    in_use = [name for name in names if getattr(settings, name, "") and PATH_SETTING.search(name)]
    paths = {name: str(folder / name.lower()) for name in in_use}
    # A secret in a file would override the value below (config.environment).
    secrets = [name for name in names if name.removesuffix("_FILE") in {*names} - {name}]
    external = [name for name in names if EXTERNAL_SETTING.search(name)]
    return (
        kept
        | paths
        | dict.fromkeys([*secrets, *external], "")
        | {
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "DEBUG": "True",  # allows plain HTTP and demo users; only this machine has access
            "HTTPS_ONLY": "False",
            "BEHIND_PROXY": "False",
            "SECRET_KEY": "of-a-sandbox",
            "ALLOWED_HOSTS": "127.0.0.1",
            "CSRF_TRUSTED_ORIGINS": "",
            "DATA_DIR": str(folder),
            "DATABASE_URL": f"sqlite:///{folder / 'siteledger.sqlite3'}",
            "DATABASE_OWNER_URL": "",
            "AUDIT_KEY_FILE": str(folder / "keys" / "audit.pem"),
            "ALERT_WEBHOOK_SECRET_FILE": "",
            "PORTAL_SECRETS_DIR": "",
            "OCR_LANGUAGES": _list_ocr_languages(),
            "LOG_LEVEL": "ERROR",
        }
    )


def _list_ocr_languages() -> str:
    """Return the languages of the installation, or those of the demo that are installed."""
    languages: str = settings.READING_LIMITS.languages
    if languages != DEMO_LANGUAGES[0]:
        return languages
    return "+".join((languages, *(each for each in DEMO_LANGUAGES[1:] if is_installed(each))))
