"""Reads secrets from files, as an alternative to secrets in the environment.

A person who can see a process can often see its environment, for example with `docker inspect`.
Containers and systemd pass secrets as files: SECRET_KEY_FILE=/run/secrets/secret_key replaces
SECRET_KEY.
"""

from collections.abc import Mapping
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

SECRETS = (
    "SECRET_KEY",
    "DATABASE_URL",
    "DATABASE_OWNER_URL",
    "REDIS_URL",
    "EMAIL_HOST_PASSWORD",
)


def read_secret_files(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the content of the file of each secret whose variable NAME_FILE is set.

    Whitespace around the content is removed. Raises ImproperlyConfigured if a file cannot be read
    or is empty: without the secret, the program could use another database.
    """
    secrets = {}
    for name in SECRETS:
        path = environment.get(f"{name}_FILE", "")
        if not path:
            continue
        try:
            secrets[name] = Path(path).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not text"
            raise ImproperlyConfigured(f"{name}_FILE={path} cannot be read: {reason}.") from None
        if not secrets[name]:
            raise ImproperlyConfigured(f"{name}_FILE={path} is empty.")
    return secrets
