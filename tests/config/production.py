"""What a deployment's settings are: `config.settings`, read by a process of its own."""

import json
import os
import re
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
    """As little as one has to set."""
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
    """The settings that guard cookies and headers."""
    return json.loads(run(folder, "-c", SAID).stdout)


def warnings(done):
    """The ids of what `manage.py check` warned of."""
    return re.findall(r"^\S+: \(([a-z_]+\.W\d+)\)", done.stderr, re.MULTILINE)
