"""The settings of a deployment: `config.settings` in a separate process."""

import json
import os
import secrets
import subprocess
import sys

from django.conf import settings

SAID = """
import json
from config import settings
starts = ("SECURE_", "SESSION_COOKIE_", "CSRF_")
names = [name for name in vars(settings) if name.startswith(starts)]
print(json.dumps({name: getattr(settings, name) for name in names}))
"""


def environment(folder, **changes):
    """Return the smallest possible environment."""
    keep = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return keep | {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DEBUG": "False",
        "SECRET_KEY": secrets.token_urlsafe(50),
        "ALLOWED_HOSTS": "ledger.example.org",
        "DATA_DIR": str(folder),
        **changes,
    }


def run(folder, *command, **changes):
    return subprocess.run(
        [sys.executable, *command],
        cwd=settings.BASE_DIR,
        env=environment(folder, **changes),
        capture_output=True,
        text=True,
        check=False,
    )


def guards(folder):
    """Return the settings that secure cookies and headers."""
    return json.loads(run(folder, "-c", SAID).stdout)


def warnings(done):
    """Return the ids of the warnings of `manage.py check`."""
    lines = map(json.loads, done.stderr.splitlines())
    return [line["code"] for line in lines if line["level"] == "warning"]
