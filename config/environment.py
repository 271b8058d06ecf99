"""The environment, in which a secret may be the content of a file.

Whoever can see a process can often see its environment, and so can `docker inspect`. Containers and
systemd hand secrets over as files: SECRET_KEY_FILE=/run/secrets/secret_key in place of SECRET_KEY.
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


def secrets_in_files(environment: Mapping[str, str]) -> dict[str, str]:
    """Of each of SECRETS whose NAME_FILE is set: what that file says, and nothing around it.

    Raises ImproperlyConfigured: to go on without could mean another database.
    """
    paths = {name: environment.get(f"{name}_FILE", "") for name in SECRETS}
    return {name: _read(name, path) for name, path in paths.items() if path}


def _read(name: str, path: str) -> str:
    try:
        secret = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not text"
        raise ImproperlyConfigured(f"{name}_FILE={path} cannot be read: {why}.") from None
    if not secret:
        raise ImproperlyConfigured(f"{name}_FILE={path} is empty.")
    return secret
