"""Asks for another worker host when all hosts are full, by a command and by a webhook.

`core.capacity` decides; `/metrics` shows the number of wanted hosts to programs such as KEDA. Every
host decides from the same rows, and one row holds what they decided last. The request is written
into the outbox in the transaction that changes this row, so it is sent once, and sent again if it
fails. It is out of date after a few minutes, when another decision is due.
"""

import json
import logging
import shlex
import subprocess
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from audit import outbox
from audit.outbox import Delivery, DeliveryFailed, DeliveryPolicy, MessageKind
from ingestion.core.capacity import (
    ScalingDecision,
    ScalingRules,
    ScalingState,
    decide_scaling,
)
from ingestion.dispatch import demand
from ingestion.dispatch.processes import host_heartbeat
from ingestion.models import ScalingRow
from ingestion.webhook import call_webhook

logger = logging.getLogger(__name__)

CHECK_INTERVAL_SECONDS = 5.0
COMMAND_TIMEOUT_SECONDS = 60.0
MAX_ERROR_CHARACTERS = 300
RETRY = DeliveryPolicy(
    initial_wait=timedelta(seconds=5),
    max_wait=timedelta(seconds=30),
    lifetime=timedelta(minutes=5),
)


def check_and_request() -> None:
    """Decide how many hosts are wanted, and deliver due requests. A `PeriodicCheck` calls it."""
    update_scaling()
    outbox.deliver_due(*(kind.name for kind in KINDS))


def update_scaling(now: datetime | None = None) -> int:
    """Decide how many hosts are wanted, store it, and write a request for one more if it is due.

    Returns the number of wanted hosts.
    """
    now = now or timezone.now()
    row = ScalingRow.objects.order_by("pk").first()
    decision = _decide(_read_state(row), now)
    if row and _read_state(row) == decision.state:
        return decision.state.wanted  # Most checks change nothing, and write nothing.
    with transaction.atomic():
        if row is None:
            row, _is_new = ScalingRow.objects.get_or_create(
                pk=1, defaults={"wanted_hosts": settings.SCALE_MIN_HOSTS}
            )
        row = ScalingRow.objects.select_for_update().get(pk=row.pk)
        decision = _decide(_read_state(row), now)  # Another host may have changed the row.
        state = decision.state
        row.wanted_hosts, row.changed_at = state.wanted, now
        row.full_since, row.idle_since = _to_time(state.full_since), _to_time(state.idle_since)
        row.asked_at = _to_time(state.asked_at)
        row.save()
        if decision.asks_for_host:
            _write_requests(state.wanted, now)
    return state.wanted


def get_wanted_hosts() -> int:
    """Return the number of hosts that were wanted at the last check."""
    wanted = ScalingRow.objects.order_by("pk").values_list("wanted_hosts", flat=True).first()
    return wanted or int(settings.SCALE_MIN_HOSTS)


def _decide(state: ScalingState, now: datetime) -> ScalingDecision:
    rules = ScalingRules(
        min_hosts=settings.SCALE_MIN_HOSTS,
        max_hosts=settings.SCALE_MAX_HOSTS,
        out_seconds=settings.SCALE_OUT_SECONDS,
        cooldown_seconds=settings.SCALE_COOLDOWN_SECONDS,
        in_seconds=settings.SCALE_IN_SECONDS,
    )
    waiting = demand.get_oldest_claimable_seconds()
    return decide_scaling(host_heartbeat.list_loads(), waiting, state, rules, now.timestamp())


def _read_state(row: ScalingRow | None) -> ScalingState:
    if row is None:
        return ScalingState(settings.SCALE_MIN_HOSTS)
    return ScalingState(
        row.wanted_hosts,
        full_since=_to_seconds(row.full_since),
        idle_since=_to_seconds(row.idle_since),
        asked_at=_to_seconds(row.asked_at),
    )


def _to_seconds(moment: datetime | None) -> float | None:
    return moment.timestamp() if moment else None


def _to_time(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def _write_requests(wanted: int, now: datetime) -> None:
    logger.warning("all worker hosts are full and work waits; wanted hosts: %d", wanted)
    facts = {
        "event": "scale_out",
        "trail": settings.AUDIT_TRAIL,
        "wanted_hosts": wanted,
        "hosts": wanted - 1,
        "waiting_seconds": round(demand.get_oldest_claimable_seconds(), 1),
        "written_at": now.isoformat(),
    }
    for kind, target in ((COMMAND, settings.SCALE_COMMAND), (WEBHOOK, settings.SCALE_WEBHOOK)):
        if target:
            outbox.post(kind.name, facts)


def _run_command(delivery: Delivery) -> None:
    """Run SCALE_COMMAND without a shell. Raises DeliveryFailed if it fails or does not end.

    Its last argument is the number of wanted hosts, and it reads all facts as JSON from its
    standard input.
    """
    try:
        subprocess.run(  # noqa: S603 - the administrator's own command
            [*shlex.split(settings.SCALE_COMMAND), str(delivery.payload["wanted_hosts"])],
            input=json.dumps(delivery.payload),
            check=True,
            timeout=COMMAND_TIMEOUT_SECONDS,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
    except subprocess.CalledProcessError as error:
        raise DeliveryFailed(
            _("SCALE_COMMAND ended with code {code}: {error}").format(
                code=error.returncode, error=error.stderr.strip()[-MAX_ERROR_CHARACTERS:]
            )
        ) from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DeliveryFailed(_("SCALE_COMMAND failed: {error}").format(error=error)) from error


def _call_webhook(delivery: Delivery) -> None:
    call_webhook(settings.SCALE_WEBHOOK, {"id": delivery.message.pk, **delivery.payload})


COMMAND = MessageKind("scaling.command", _run_command, RETRY)
WEBHOOK = MessageKind("scaling.webhook", _call_webhook, RETRY)
KINDS = (COMMAND, WEBHOOK)
