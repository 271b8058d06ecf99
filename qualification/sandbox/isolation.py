"""The environment of a sandbox: this process's without anything that leads outside."""

import os
import re
from pathlib import Path

from django.conf import settings

# Settings that name a folder of the installation, or a service outside of it.
PLACE = re.compile(r"_(DIR|ROOT|FILE)$")
OUTSIDE = re.compile(
    r"_(URL|BUCKET|ENDPOINT|TSA|CERTIFICATES|EMAILS|WEBHOOK|SERVER|ROLES)$|^CLAMD$"
)
_PORTALS = ("PORTAL_SECRET", "PORTAL_CA_", "PORTAL_CERT_")
_NAMED = re.compile(r"^#? ?([A-Z][A-Z0-9_]*)=", re.MULTILINE)  # in `.env.example`


def known() -> list[str]:
    """Return the names of all settings that `.env.example` documents."""
    return _NAMED.findall((settings.BASE_DIR / ".env.example").read_text(encoding="utf-8"))


def environment(folder: Path) -> dict[str, str]:
    """Return the environment with which programs of a sandbox in `folder` are started."""
    kept = {name: v for name, v in os.environ.items() if not name.startswith(_PORTALS)}
    names = known()
    used = [name for name in names if getattr(settings, name, "") and PLACE.search(name)]
    places = {name: str(folder / name.lower()) for name in used}
    # A secret in a file would override the value below (config.environment).
    secrets = [name for name in names if name.removesuffix("_FILE") in {*names} - {name}]
    outside = [name for name in names if OUTSIDE.search(name)]
    return (
        kept
        | places
        | dict.fromkeys([*secrets, *outside], "")
        | {
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "DEBUG": "True",  # plain HTTP and demo users, on this machine alone
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
            "LOG_LEVEL": "ERROR",
        }
    )
