"""Lock out names, browsers, addresses and people after too many failures (21 CFR 11.300(d); R19).

What is counted, each for LOCKOUT_MINUTES from its first failure:

- a name, in browsers in which its person has never signed in: LOCKOUT_FAILURES;
- a name, in a browser in which its person has: counted apart, or anybody who knows a name could
  keep its person out by failing on purpose (`sites.accounts.known_browsers`);
- an address, whatever the names, known browsers aside: LOCKOUT_ADDRESS_FAILURES, which is more, for
  a whole hospital may come from one address;
- a person whose password or session is good, and whose code or signature is not.

An attempt is counted before the password or the code is looked at, and taken off again when it was
right. Attempts that come at once therefore have no more tries than those that come one by one.

What is locked opens LOCKOUT_MINUTES later; tries meanwhile are refused unlooked at, and do not put
that off, so that the time that was named is true. Whether a name exists makes no difference. Rows
of what is over are removed by the next failure: there are never more than failed in that time.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import signals
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import F, Q
from django.dispatch import Signal
from django.http import HttpRequest
from django.utils import timezone

from audit.ledger import context
from audit.ledger.log import ledger, record
from sites import account_changes
from sites.accounts import known_browsers, sign_in_log
from sites.models import User
from sites.models.usage_counters import Tries

logger = logging.getLogger(__name__)
Kind = Tries.Kind

WAIT_SECONDS = 10  # while as many attempts as are allowed are being looked at

locked = Signal()  # `lock`: a Lock, just made. For whoever tells people at once


@dataclass(frozen=True, slots=True)
class Count:
    kind: Kind
    value: str

    @property
    def most(self) -> int:
        of_address = self.kind is Kind.ADDRESS
        return int(settings.LOCKOUT_ADDRESS_FAILURES if of_address else settings.LOCKOUT_FAILURES)


@dataclass(frozen=True, slots=True)
class Lock:
    kind: Kind
    name: str  # as it was typed
    address: str  # from where
    user: str  # an actor; "" where nobody has that name
    until: datetime


@dataclass(frozen=True, slots=True)
class Refusal:
    """How an attempt to sign in ended: the attribute `lockout` of its request.

    `is_unchecked`: the password was not looked at.
    """

    until: datetime | None
    is_unchecked: bool = False


class Refused(Exception):
    """It was not right, or is not looked at `until` then."""

    def __init__(self, until: datetime | None) -> None:
        super().__init__(until)
        self.until = until


def counts_of(name: str, request: HttpRequest) -> tuple[list[Count], User | None]:
    """What a try with this name counts for, and whose name it is."""
    person = User.objects.filter(username=name).first()
    if browser := known_browsers.key_of(request, person):
        return [Count(Kind.BROWSER, browser)], person
    counts = [Count(Kind.NAME, name.casefold()[:200])]
    address = context.current_origin().facts.get("address", "")
    return counts + ([Count(Kind.ADDRESS, address)] if address else []), person


def of_person(person: User) -> Count:
    return Count(Kind.PERSON, str(person.pk))


def prove(person: User, proof: Callable[[], Any]) -> Any:
    """Return what `proof` returns, if it is true: a person proves a password or a code again.

    Raises Refused if it is false, which counts as a failure, or if the person is locked out.
    """
    one = of_person(person)
    if until := begin_attempt([one], person):
        raise Refused(until)
    if not (found := proof()):
        raise Refused(record_failure([one], person.get_username(), person))
    forget(one)
    return found


def locked_until(*counts: Count) -> datetime | None:
    """When one may try again; None: now."""
    held = _rows(counts).filter(is_locked=True, ends_at__gt=timezone.now())
    last: Tries | None = held.order_by("-ends_at").first()
    return last.ends_at if last else None


def begin_attempt(counts: Sequence[Count], person: User | None) -> datetime | None:
    """Count an attempt before it is looked at. Return None if it may be looked at.

    Otherwise nothing is counted, and the time of the next attempt is returned: the end of the
    lock, or a few seconds if as many attempts as are allowed are being looked at.
    """
    now = timezone.now()
    Tries.objects.filter(ends_at__lte=now).delete()
    end = now + timedelta(minutes=settings.LOCKOUT_MINUTES)
    with transaction.atomic():
        is_counted = all(_count(each, person, end) for each in counts)
        transaction.set_rollback(not is_counted)  # none of them, where one has none left
    if is_counted:
        return None
    return locked_until(*counts) or now + timedelta(seconds=WAIT_SECONDS)


def _count(each: Count, person: User | None, end: datetime) -> bool:
    """Whether there was an attempt left to count."""
    given = {"ends_at": end, "user": None if each.kind is Kind.ADDRESS else person}
    Tries.objects.get_or_create(kind=each.kind, value=each.value, defaults=given)
    left = _rows([each]).filter(is_locked=False, failures__lt=each.most)
    return bool(left.update(failures=F("failures") + 1))


def end_attempt(*counts: Count) -> None:
    """Take back what `begin_attempt` counted: it was right."""
    _rows(counts).filter(failures__gt=0, is_locked=False).update(failures=F("failures") - 1)


def record_failure(counts: Iterable[Count], name: str, person: User | None) -> datetime | None:
    """An attempt that was counted has failed. Return until when that locks, if it does."""
    end = timezone.now() + timedelta(minutes=settings.LOCKOUT_MINUTES)
    made = []
    for each in counts:
        too_many = _rows([each]).filter(failures__gte=each.most, is_locked=False)
        if too_many.update(is_locked=True, ends_at=end):
            made.append(each)
            _tell(each, name, person, end)
    return end if made else None


def _tell(each: Count, name: str, person: User | None, until: datetime) -> None:
    address = context.current_origin().facts.get("address", "")
    lock = Lock(each.kind, name, address, person.actor if person else "", until)
    if each.kind is Kind.PERSON and person:
        _enter(lock, person)
    else:
        sign_in_log.count_lock(name, address, until)
    # Not the name: people type passwords into its field.
    facts = {"kind": lock.kind, "user": lock.user, "address": address, "until": f"{until}"}
    logger.warning("locked out after too many failures: %s", facts, extra=facts)
    locked.send(Lock, lock=lock)


def _enter(lock: Lock, person: User) -> None:
    """At once: nobody comes so far from outside without the person's password."""
    with ledger():
        row = account_changes.numbered(person.pk)
        record(
            "user.locked",
            subject=row.actor,
            n=row.revision,
            actor=sign_in_log.SYSTEM,
            role="service",
            detail={"address": lock.address, "until": lock.until.isoformat()},
        )


def forget(*counts: Count) -> None:
    """They proved who they are. What others failed at elsewhere stays counted."""
    _rows(each for each in counts if each.kind is not Kind.ADDRESS).delete()


def unlock(person: User) -> int:
    """Everything that is counted against them. Answers whether there was anything."""
    return person.tries.all().delete()[0]


def locks() -> dict[int, datetime]:
    """Until when people are locked out somewhere, by their primary keys."""
    held = Tries.objects.filter(is_locked=True, ends_at__gt=timezone.now(), user__isnull=False)
    return dict(held.order_by("ends_at").values_list("user", "ends_at"))


def _rows(counts: Iterable[Count]) -> Any:
    wanted = Q(pk__in=[])
    for each in counts:
        wanted |= Q(kind=each.kind, value=each.value)
    return Tries.objects.filter(wanted)


def connect() -> None:
    """Count failed sign-ins and forget them after a sign-in. Called once, when the app is ready."""
    signals.user_login_failed.connect(_sign_in_failed, dispatch_uid="sites.lockout_failed")
    signals.user_logged_in.connect(_signed_in, dispatch_uid="sites.lockout_signed_in")


def refuse_if_locked(request: HttpRequest, name: str) -> None:
    """Count an attempt to sign in before its password is looked at.

    Raises PermissionDenied, which ends Django's authentication, if the name, the browser or the
    address is locked. `refused_until` then returns until when.
    """
    counts, person = counts_of(sign_in_log.as_typed(name), request)
    until = begin_attempt(counts, person)
    _set_refusal(request, Refusal(until, is_unchecked=until is not None))
    if until is not None:
        raise PermissionDenied


def refused_until(request: HttpRequest) -> datetime | None:
    """Return until when the attempt in this request was refused, or None if it was not."""
    refusal = _refusal_of(request)
    return refusal.until if refusal else None


def _set_refusal(request: HttpRequest, refusal: Refusal) -> None:
    request.lockout = refusal  # type: ignore[attr-defined] # as Django's middleware sets `user`


def _refusal_of(request: HttpRequest) -> Refusal | None:
    return getattr(request, "lockout", None)


def _sign_in_failed(
    sender: Any, credentials: dict[str, Any], request: HttpRequest | None = None, **_signal: Any
) -> None:
    refusal = _refusal_of(request) if request else None
    if request is None or refusal is None or refusal.is_unchecked:
        return
    name = sign_in_log.as_typed(credentials.get("username"))
    counts, person = counts_of(name, request)
    _set_refusal(request, Refusal(record_failure(counts, name, person)))


def _signed_in(sender: Any, request: HttpRequest, user: User, **_signal: Any) -> None:
    counts, _person = counts_of(user.get_username(), request)
    forget(*counts, of_person(user))
