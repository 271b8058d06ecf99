"""Implements the outbox: work that is written in the transaction of a change and done later.

Background jobs, emails, alarms, anchors and changes of object locks use it. A message is a row of
`OutboxMessage`:

    waiting -> claimed -> deleted: it was delivered
                       -> waiting: the delivery failed, and the message is due again after a backoff
                       -> dead: its attempts or its lifetime are used up; an operator can retry it

Any number of processes may deliver at once. A claim is a lease with an id of its own. The process
that holds it may extend it; when it has expired, the process counts as dead and the message waits
again. So every message is delivered at least once, and each handler is safe to repeat. A handler
that records what it did calls `Delivery.complete()` in the transaction of that record.

Which kinds exist is registered at start in one place (`ingestion.registrations`). The alert monitor
of each worker host delivers all kinds once a minute by `deliver_each_minute`. A kind that says
`is_delivered_each_minute=False` has a caller of its own: a thread of worker hosts, a worker, a
command or a task, so that a slow server delays nothing but its own messages.
"""

import logging
import random
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from structlog.contextvars import bound_contextvars

from audit.correlation import get_correlation_id
from audit.models import OutboxMessage

__all__ = [
    "ChannelUnavailable",
    "Delivery",
    "DeliveryFailed",
    "DeliveryPolicy",
    "DeliveryResult",
    "LeaseExpired",
    "MessageKind",
    "NothingToDeliver",
    "OutboxMessage",
    "claim_next",
    "deliver",
    "deliver_due",
    "deliver_each_minute",
    "find_expired_leases",
    "post",
    "prune_dead",
    "register_kinds",
    "release_expired",
    "retry_dead",
]

logger = logging.getLogger(__name__)

State = OutboxMessage.State

MAX_DOUBLINGS = 20  # of the initial wait; keeps the number small
MIN_JITTER = 0.8  # the smallest part of a wait that jitter leaves
CLAIM_CANDIDATES = 10  # messages that one call of `claim_next` tries


class DeliveryFailed(Exception):
    """The delivery failed for a reason that the message states. It is tried again later."""


class ChannelUnavailable(DeliveryFailed):
    """The whole channel failed. Further messages of this kind are left for the next call."""


class NothingToDeliver(Exception):
    """The message is out of date: it is deleted and does not count as delivered."""


class LeaseExpired(Exception):
    """The claim expired, and another process may have the message. Nothing of it may be saved."""


@dataclass(frozen=True, slots=True)
class DeliveryPolicy:
    """Limits how often and for how long a failed delivery is tried again."""

    initial_wait: timedelta  # doubled after each failure
    max_wait: timedelta
    max_attempts: int | None = None  # claims, even by processes that died. None: no limit
    lifetime: timedelta | None = None  # after which a message is out of date. None: never
    #: Whether the end of its lifetime counts only at the next failure, so that every message is
    #: tried at least once, even after all hosts were down.
    tries_outdated: bool = False

    def draw_wait(
        self, attempts: int, uniform: Callable[[float, float], float] = random.uniform
    ) -> timedelta:
        """Return the wait after the given number of failed attempts, with up to 20 % of jitter.

        Jitter shortens a wait, so that `max_wait` is never exceeded.
        """
        doubled = self.initial_wait * 2 ** min(attempts - 1, MAX_DOUBLINGS)
        wait: timedelta = min(self.max_wait, doubled) * uniform(MIN_JITTER, 1.0)
        return wait


@dataclass(frozen=True, slots=True)
class MessageKind:
    """Describes how messages of one kind are delivered."""

    name: str
    #: Delivers a message. May raise DeliveryFailed, ChannelUnavailable, NothingToDeliver or
    #: LeaseExpired. Any other exception counts as a failed delivery and is logged. If it is None,
    #: the caller passes a handler to `deliver`.
    deliver: Callable[["Delivery"], object] | None
    retry: DeliveryPolicy
    lease: timedelta = timedelta(minutes=2)
    #: Whether this host can deliver messages of this kind now. Otherwise it leaves them to others.
    can_deliver: Callable[[], bool] = lambda: True
    #: A message with the same key is shared even while it is being delivered. For kinds whose
    #: handler finds out itself what is to be delivered, and which are posted again and again.
    shares_claimed: bool = False
    #: Whether `deliver_each_minute` delivers messages of this kind. Otherwise they have a caller of
    #: their own, as all kinds without `deliver` have.
    is_delivered_each_minute: bool = True


@dataclass(slots=True)
class Delivery:
    """A message that this process has claimed."""

    message: OutboxMessage
    kind: MessageKind
    is_completed: bool = False

    @property
    def payload(self) -> Mapping[str, Any]:
        """Return the facts of the message, as `post()` stored them."""
        payload: Mapping[str, Any] = self.message.payload
        return payload

    def extend(self) -> None:
        """Extend the lease by its full length. Raises LeaseExpired if it is lost."""
        lease_until = timezone.now() + self.kind.lease
        if not _claimed(self.message).update(lease_until=lease_until):
            raise LeaseExpired(str(self.message))

    def complete(self) -> None:
        """Delete the message, in the handler's own transaction if there is one.

        Raises LeaseExpired if the lease is lost, so that the transaction is rolled back.
        """
        if not _claimed(self.message).delete()[0]:
            raise LeaseExpired(str(self.message))
        self.is_completed = True


@dataclass(slots=True)
class DeliveryResult:
    """The outcome of one call of `deliver_due`."""

    delivered: int = 0
    failures: list[DeliveryFailed] = field(default_factory=list)

    @property
    def errors(self) -> list[str]:
        """Return the reasons of the failures, as sentences."""
        return [str(failure) for failure in self.failures]


_kinds: dict[str, MessageKind] = {}


def register_kinds(*kinds: MessageKind) -> None:
    """Make kinds of messages known to this process. A kind with the same name is replaced."""
    _kinds.update({kind.name: kind for kind in kinds})


def post(
    kind: str,
    payload: Mapping[str, Any],
    *,
    key: str = "",
    ordering_key: str = "",
    due_at: datetime | None = None,
    precedence: timedelta = timedelta(0),
) -> OutboxMessage:
    """Write a message in the current transaction, and return it.

    With a `key`, a message of the same kind and key that still waits is shared: it is returned, and
    no process claims it before the current transaction has ended. Its row is locked until then, so
    post after all other locks have been taken, except the ledger's.

    Messages of one kind with the same `ordering_key` are delivered one at a time and in the order
    in which they were written.

    `claim_next` takes the message as if it had been due earlier by `precedence`, which may be
    negative. So an urgent message comes first, and another one does not wait for ever.

    Raises ValueError for a kind that is not registered.
    """
    if kind not in _kinds:
        raise ValueError(f"there is no kind of message {kind!r}")
    if key and (shared := share(kind, key)):
        return shared
    now, lifetime = timezone.now(), _kinds[kind].retry.lifetime
    columns = {
        "payload": dict(payload),
        "ordering_key": ordering_key,
        "correlation_id": get_correlation_id(),
        "created_at": now,
        "due_at": due_at or now,
        "turn_at": (due_at or now) - precedence,
        "expires_at": now + lifetime if lifetime else None,
    }
    try:
        with transaction.atomic():
            return OutboxMessage.objects.create(kind=kind, key=key, **columns)
    except IntegrityError:  # Another process has just posted the same.
        return share(kind, key) or OutboxMessage.objects.create(kind=kind, **columns)


def share(kind: str, key: str) -> OutboxMessage | None:
    """Return the open message of this kind and key, if there is one, for one more sender."""
    same = OutboxMessage.objects.filter(kind=kind, key=key)
    # This update changes nothing. It locks the row until the sender has committed.
    if same.filter(state=State.WAITING).update(kind=kind):
        return same.get(state=State.WAITING)
    if _kinds[kind].shares_claimed:
        return same.filter(state=State.CLAIMED).first()
    return None


def deliver_due(*kinds: str, is_requested: bool = False) -> DeliveryResult:
    """Deliver the messages of these kinds that are due, in the order in which they were written.

    With `is_requested`, a person asked for it: also messages that wait after a failure are tried.
    """
    now = timezone.now()
    release_expired(kinds, now)
    _give_up_outdated(kinds, now)
    waiting = OutboxMessage.objects.filter(state=State.WAITING, kind__in=_deliverable(kinds))
    if not is_requested:
        waiting = waiting.filter(due_at__lte=now)
    result, unavailable = DeliveryResult(), set[str]()
    for pk, kind in list(waiting.order_by("pk").values_list("pk", "kind")):
        claimed = None if kind in unavailable else _claim(pk, is_requested=is_requested)
        if claimed is None:
            continue
        failure = deliver(claimed)
        if failure:
            result.failures.append(failure)
        if isinstance(failure, ChannelUnavailable):
            unavailable.add(kind)
        result.delivered += claimed.is_completed
    return result


def deliver_each_minute() -> DeliveryResult:
    """Deliver what is due of all kinds that have no caller of their own."""
    kinds = [
        kind.name
        for kind in _kinds.values()
        if kind.deliver is not None and kind.is_delivered_each_minute
    ]
    return deliver_due(*kinds)


def claim_next(kinds: Iterable[str], *, by: str = "") -> Delivery | None:
    """Claim the message of these kinds whose turn it is and that this host can do.

    `by` names the worker. Returns None if nothing is due.
    """
    due = OutboxMessage.objects.filter(
        state=State.WAITING, kind__in=_deliverable(kinds), due_at__lte=timezone.now()
    )
    for pk in list(due.order_by("turn_at", "pk").values_list("pk", flat=True)[:CLAIM_CANDIDATES]):
        if claimed := _claim(pk, by=by):
            return claimed
    return None


def deliver(
    delivery: Delivery, handler: Callable[[Delivery], object] | None = None
) -> DeliveryFailed | None:
    """Deliver a claimed message with the given handler, or that of its kind.

    Returns the failure, or None. `delivery.is_completed` tells whether it was delivered: a lost
    lease is no failure, because the next process delivers the message. Raises ValueError if there
    is no handler.
    """
    handler = handler or delivery.kind.deliver
    if handler is None:
        raise ValueError(f"messages of the kind {delivery.kind.name} need a handler")
    correlation_id = delivery.message.correlation_id or get_correlation_id()
    with bound_contextvars(correlation_id=str(correlation_id)):
        return _try_to_deliver(delivery, handler)


def _try_to_deliver(
    delivery: Delivery, handler: Callable[[Delivery], object]
) -> DeliveryFailed | None:
    failure: DeliveryFailed
    try:
        handler(delivery)
        if not delivery.is_completed:
            delivery.complete()
    except NothingToDeliver:
        _claimed(delivery.message).delete()
        return None
    except LeaseExpired:
        logger.warning("%s was given to another process meanwhile", delivery.message)
        delivery.is_completed = False
        return None
    except DeliveryFailed as error:
        logger.warning("%s failed: %s", delivery.message, error)
        failure = error
    except Exception as error:  # A handler's fault must not stop the messages behind it.
        logger.exception("%s failed", delivery.message)
        failure = DeliveryFailed(f"{type(error).__name__}: {error}")
    else:
        return None
    delivery.is_completed = False
    _record_failure(delivery, str(failure))
    return failure


def find_expired_leases(kinds: Iterable[str], now: datetime) -> "QuerySet[OutboxMessage]":
    """Return the claimed messages of these kinds whose process counts as dead."""
    claimed = OutboxMessage.objects.filter(state=State.CLAIMED, kind__in=list(kinds))
    return claimed.filter(lease_until__lt=now)


def release_expired(kinds: Iterable[str], now: datetime) -> None:
    """Let the messages of dead processes wait again, or give them up."""
    for message in find_expired_leases(kinds, now):
        release(message, now)


def release(message: OutboxMessage, now: datetime) -> bool:
    """End the claim of a dead process: the message is due, or dead if its attempts are used up.

    Returns False if another process was faster. `message.state` is the new state.
    """
    max_attempts = _kinds[message.kind].retry.max_attempts
    if max_attempts is not None and message.attempts >= max_attempts:
        error = message.error or "Each process that delivered this message died."
        return _end_claim(message, State.DEAD, error=error, dead_at=now)
    logger.warning("the process that delivered %s died; it is delivered again", message)
    return _end_claim(message, State.WAITING, due_at=now)


def retry_dead(messages: "QuerySet[OutboxMessage]") -> int:
    """Let dead messages wait again, with all their attempts. Returns how many there were."""
    now, count = timezone.now(), 0
    for message in messages.filter(state=State.DEAD, kind__in=_kinds):
        lifetime = _kinds[message.kind].retry.lifetime
        count += _update(
            message,
            OutboxMessage.objects.filter(pk=message.pk, state=State.DEAD),
            state=State.WAITING,
            attempts=0,
            due_at=now,
            expires_at=now + lifetime if lifetime else None,
            dead_at=None,
        )
    return count


def prune_dead(before: datetime) -> int:
    """Delete messages that were given up before that time. Returns how many there were."""
    return OutboxMessage.objects.filter(state=State.DEAD, dead_at__lt=before).delete()[0]


def _deliverable(kinds: Iterable[str]) -> list[str]:
    return [name for name in kinds if name in _kinds and _kinds[name].can_deliver()]


def _claim(pk: int, *, by: str = "", is_requested: bool = False) -> Delivery | None:
    """Claim a waiting message that is due, or any waiting one if a person requested it.

    Returns None if another process has it or has just failed to deliver it, or if its turn has not
    come.
    """
    now = timezone.now()
    earlier = OutboxMessage.objects.filter(
        kind=OuterRef("kind"), ordering_key=OuterRef("ordering_key"), pk__lt=OuterRef("pk")
    ).exclude(state=State.DEAD)
    is_next = Q(ordering_key="") | ~Exists(earlier)
    waiting = OutboxMessage.objects.filter(is_next, pk=pk, state=State.WAITING)
    if not is_requested:
        waiting = waiting.filter(due_at__lte=now)
    if connection.features.has_select_for_update_skip_locked:
        waiting = waiting.select_for_update(skip_locked=True)
    try:
        with transaction.atomic():
            message = waiting.first()
            if message is None:
                return None
            message.state, message.claim_id, message.claimed_by = State.CLAIMED, uuid.uuid4(), by
            message.attempts += 1
            message.lease_until = now + _kinds[message.kind].lease
            message.save(
                update_fields=["state", "claim_id", "claimed_by", "attempts", "lease_until"]
            )
    except IntegrityError:  # A message with the same ordering key was claimed at the same moment.
        return None
    return Delivery(message, _kinds[message.kind])


def _claimed(message: OutboxMessage) -> "QuerySet[OutboxMessage]":
    """Return the row, unless the claim is lost."""
    return OutboxMessage.objects.filter(
        pk=message.pk, state=State.CLAIMED, claim_id=message.claim_id
    )


def _record_failure(delivery: Delivery, error: str) -> None:
    message, retry, now = delivery.message, delivery.kind.retry, timezone.now()
    is_exhausted = retry.max_attempts is not None and message.attempts >= retry.max_attempts
    if is_exhausted or (message.expires_at is not None and message.expires_at <= now):
        logger.error("%s is given up", message)
        _end_claim(message, State.DEAD, error=error, dead_at=now)
    else:
        due_at = now + retry.draw_wait(message.attempts)
        _end_claim(message, State.WAITING, error=error, due_at=due_at)


def _give_up_outdated(kinds: Iterable[str], now: datetime) -> None:
    """Give up what waited beyond its lifetime."""
    strict = [name for name in kinds if not _kinds[name].retry.tries_outdated]
    outdated = OutboxMessage.objects.filter(state=State.WAITING, kind__in=strict)
    outdated.filter(expires_at__lte=now).update(state=State.DEAD, dead_at=now)


def _end_claim(message: OutboxMessage, state: OutboxMessage.State, **columns: Any) -> bool:
    return _update(message, _claimed(message), state=state, **columns)


def _update(message: OutboxMessage, rows: "QuerySet[OutboxMessage]", **columns: Any) -> bool:
    """Move a message to a state in which nobody holds it. Returns False if its row has changed."""
    columns |= {"claim_id": None, "lease_until": None, "woken_at": None}
    try:
        with transaction.atomic():
            is_moved = rows.update(**columns) == 1
    except IntegrityError:  # The same was posted meanwhile. The newer message keeps the key.
        columns["key"] = ""
        is_moved = rows.update(**columns) == 1
    for name, value in columns.items():
        setattr(message, name, value)
    return is_moved
