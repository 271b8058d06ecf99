"""Sends signed requests to the webhooks of the installation: ALERT_WEBHOOK and SCALE_WEBHOOK."""

import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2 as httpx
from django.conf import settings
from django.utils.translation import gettext as _

from audit.outbox import DeliveryFailed

TIMEOUT_SECONDS = 10.0  # of connecting, and of each wait for bytes of the response's headers


def call_webhook(url: str, content: Mapping[str, Any]) -> None:
    """Send the content as JSON to the webhook at the address.

    It is called by the handlers of messages of the outbox. Raises DeliveryFailed if the webhook
    cannot be reached, if its answer is no success, or if the secret cannot be read.
    """
    body = json.dumps(content).encode()
    headers = {"Content-Type": "application/json", **_make_signature_headers(body)}
    try:
        # The body of the response is not read, because it may be long or never end.
        with httpx.stream(
            "POST", url, content=body, headers=headers, timeout=TIMEOUT_SECONDS
        ) as response:
            pass
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        raise DeliveryFailed(
            _("The webhook could not be reached: {error}").format(
                error=f"{type(error).__name__}: {error}"
            )
        ) from error
    if not response.is_success:
        raise DeliveryFailed(
            _("The webhook answered with status {status}.").format(status=response.status_code)
        )


def _make_signature_headers(body: bytes) -> dict[str, str]:
    """Return the HMAC-SHA256 of the time, a dot and the body, as is usual for webhooks.

    Returns nothing without a secret. Raises DeliveryFailed if the secret cannot be read.
    """
    if not settings.ALERT_WEBHOOK_SECRET_FILE:
        return {}
    try:
        secret = Path(settings.ALERT_WEBHOOK_SECRET_FILE).read_bytes().strip()
    except OSError as error:
        raise DeliveryFailed(
            _("The webhook secret cannot be read: {error}").format(error=error)
        ) from error
    timestamp = str(int(time.time()))
    digest = hmac.new(secret, timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    return {
        "X-SiteLedger-Timestamp": timestamp,
        "X-SiteLedger-Signature": f"sha256={digest}",
    }
