"""Lock out names, browsers, addresses and people after too many failures (21 CFR 11.300(d); R19).

What is counted, each for LOCKOUT_MINUTES from its first failure:

- a user name, in browsers in which its person has never signed in: LOCKOUT_FAILURES;
- a browser in which the person has signed in before: counted separately, because otherwise anybody
  who knows a user name could lock its person out (`sites.accounts.known_browsers`);
- an IP address, for all user names, without known browsers: LOCKOUT_ADDRESS_FAILURES, which is
  higher, because a whole hospital may share one address;
- a person whose password or session is valid and whose code or signature is not.

An attempt is counted before the password or the code is checked, and the count is taken back if it
was correct. Concurrent attempts therefore get no more tries than consecutive ones.

A lockout ends LOCKOUT_MINUTES later. Attempts during a lockout are refused without a check and do
not extend it, so that the time shown to the person stays correct. User names that do not exist are
treated alike. Each attempt deletes the rows of windows that have ended.
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
from audit.ledger.log import ledger
from sites.accounts import known_browsers, sign_in_log
from sites.models import User
from sites.models.usage_counters import Tries

logger = logging.getLogger(__name__)
Kind = Tries.Kind

WAIT_SECONDS = 10  # suggested while the allowed number of attempts is still being checked

locked = Signal()  # sent with `lock`, a new Lockout: for alerts that cannot wait


@dataclass(frozen=True, slots=True)
class AttemptCount:
    """Identifies a row of `Tries`, which counts attempts of one kind."""

    kind: Kind
    value: str

    @property
    def max_failures(self) -> int:
        """Return the number of failures after which attempts are refused, from the settings."""
        of_address = self.kind is Kind.ADDRESS
        return int(settings.LOCKOUT_ADDRESS_FAILURES if of_address else settings.LOCKOUT_FAILURES)


@dataclass(frozen=True, slots=True)
class Lockout:
    """Describes a lockout that just began, as it is recorded in the ledger."""

    kind: Kind
    name: str  # the user name as it was typed
    address: str  # the IP address of the attempt
    user: str  # the actor; "" if no account has this user name
    until: datetime


@dataclass(frozen=True, slots=True)
class SignInRefusal:
    """Describes how an attempt to sign in ended. It is the attribute `lockout` of its request.

    `is_unchecked`: the password was not checked.
    """

    until: datetime | None
    is_unchecked: bool = False


class ProofRefused(Exception):
    """The password or code was wrong, or is not checked until `until` because of a lockout.

    `until` is None if the person may try again now.
    """

    def __init__(self, until: datetime | None) -> None:
        super().__init__(until)
        self.until = until


def list_attempt_counts(name: str, request: HttpRequest) -> tuple[list[AttemptCount], User | None]:
    """Return what an attempt with this user name counts for, and the account of that name."""
    person = User.objects.filter(username=name).first()
    if browser := known_browsers.get_browser_key(request, person):
        return [AttemptCount(Kind.BROWSER, browser)], person
    counts = [AttemptCount(Kind.NAME, name.casefold()[:200])]
    address = context.get_current_origin().facts.get("address", "")
    return counts + ([AttemptCount(Kind.ADDRESS, address)] if address else []), person


def get_person_count(person: User) -> AttemptCount:
    """Return the count of this person's failures with a valid session or password."""
    return AttemptCount(Kind.PERSON, str(person.pk))


def require_proof(person: User, proof: Callable[[], Any]) -> Any:
    """Return the result of `proof`, which checks a password or a code of a known person.

    Raises ProofRefused if the result is false, which counts as a failure, or if the person is
    locked out; then `proof` is not called.
    """
    one = get_person_count(person)
    if until := begin_attempt([one], person):
        raise ProofRefused(until)
    if not (found := proof()):
        raise ProofRefused(record_failure([one], person.get_username(), person))
    clear_failures(one)
    return found


def get_locked_until(*counts: AttemptCount) -> datetime | None:
    """Return when the last of the lockouts of these counts ends, or None if there is none."""
    held = _rows(counts).filter(is_locked=True, ends_at__gt=timezone.now())
    last: Tries | None = held.order_by("-ends_at").first()
    return last.ends_at if last else None


def begin_attempt(counts: Sequence[AttemptCount], person: User | None) -> datetime | None:
    """Count an attempt before it is checked. Return None if it may be checked.

    Otherwise nothing is counted, and the time of the next attempt is returned: the end of the
    lockout, or a few seconds if the allowed number of attempts is still being checked.
    """
    now = timezone.now()
    Tries.objects.filter(ends_at__lte=now).delete()
    end = now + timedelta(minutes=settings.LOCKOUT_MINUTES)
    with transaction.atomic():
        is_counted = all(_count(each, person, end) for each in counts)
        transaction.set_rollback(not is_counted)  # all counts or none
    if is_counted:
        return None
    return get_locked_until(*counts) or now + timedelta(seconds=WAIT_SECONDS)


def _count(each: AttemptCount, person: User | None, end: datetime) -> bool:
    """Count the attempt, and return whether the limit had not been reached."""
    given = {"ends_at": end, "user": None if each.kind is Kind.ADDRESS else person}
    Tries.objects.get_or_create(kind=each.kind, value=each.value, defaults=given)
    left = _rows([each]).filter(is_locked=False, failures__lt=each.max_failures)
    return bool(left.update(failures=F("failures") + 1))


def end_attempt(*counts: AttemptCount) -> None:
    """Take back what `begin_attempt` counted, because the attempt was correct."""
    _rows(counts).filter(failures__gt=0, is_locked=False).update(failures=F("failures") - 1)


def record_failure(
    counts: Iterable[AttemptCount], name: str, person: User | None
) -> datetime | None:
    """Record that a counted attempt has failed. Return the end of the lockout that it causes."""
    end = timezone.now() + timedelta(minutes=settings.LOCKOUT_MINUTES)
    made = []
    for each in counts:
        too_many = _rows([each]).filter(failures__gte=each.max_failures, is_locked=False)
        if too_many.update(is_locked=True, ends_at=end):
            made.append(each)
            _report_lockout(each, name, person, end)
    return end if made else None


def _report_lockout(each: AttemptCount, name: str, person: User | None, until: datetime) -> None:
    address = context.get_current_origin().facts.get("address", "")
    lock = Lockout(each.kind, name, address, person.actor_name if person else "", until)
    if each.kind is Kind.PERSON and person:
        # At once, because only a person who knows the password gets this far.
        with ledger():
            detail = {"address": address, "until": until.isoformat()}
            person.record("user.locked", by=sign_in_log.SIGN_IN_ACTOR, detail=detail)
    else:
        sign_in_log.count_lockout(name, address, until)
    # Neither the user name nor the address is logged. The ledger has both.
    logger.warning("locked out after too many failures of one %s", lock.kind)
    locked.send(Lockout, lock=lock)


def clear_failures(*counts: AttemptCount) -> None:
    """Delete these counts after a correct attempt, except of addresses, which people share."""
    _rows(each for each in counts if each.kind is not Kind.ADDRESS).delete()


def clear_all_failures(person: User) -> int:
    """Delete all counts of a person. Return how many rows there were."""
    return person.tries.all().delete()[0]


def find_lockouts() -> dict[int, datetime]:
    """Return when the current lockouts of people end, by the primary key of the person."""
    held = Tries.objects.filter(is_locked=True, ends_at__gt=timezone.now(), user__isnull=False)
    return dict(held.order_by("ends_at").values_list("user", "ends_at"))


def _rows(counts: Iterable[AttemptCount]) -> Any:
    wanted = Q(pk__in=[])
    for each in counts:
        wanted |= Q(kind=each.kind, value=each.value)
    return Tries.objects.filter(wanted)


def connect_signals() -> None:
    """Count failed sign-ins and forget them after a sign-in. Called once, when the app is ready."""
    signals.user_login_failed.connect(_sign_in_failed, dispatch_uid="sites.lockout_failed")
    signals.user_logged_in.connect(_signed_in, dispatch_uid="sites.lockout_signed_in")


def refuse_if_locked(request: HttpRequest, name: str) -> None:
    """Count an attempt to sign in before its password is checked.

    Raises PermissionDenied, which ends Django's authentication, if the name, the browser or the
    address is locked. `get_refused_until` then returns until when.
    """
    counts, person = list_attempt_counts(sign_in_log.normalize_name(name), request)
    until = begin_attempt(counts, person)
    _set_refusal(request, SignInRefusal(until, is_unchecked=until is not None))
    if until is not None:
        raise PermissionDenied


def get_refused_until(request: HttpRequest) -> datetime | None:
    """Return until when the attempt in this request was refused, or None if it was not."""
    refusal = _refusal_of(request)
    return refusal.until if refusal else None


def _set_refusal(request: HttpRequest, refusal: SignInRefusal) -> None:
    request.lockout = refusal  # type: ignore[attr-defined] # as Django's middleware sets `user`


def _refusal_of(request: HttpRequest) -> SignInRefusal | None:
    return getattr(request, "lockout", None)


def _sign_in_failed(
    sender: Any, credentials: dict[str, Any], request: HttpRequest | None = None, **_signal: Any
) -> None:
    refusal = _refusal_of(request) if request else None
    if request is None or refusal is None or refusal.is_unchecked:
        return
    name = sign_in_log.normalize_name(credentials.get("username"))
    counts, person = list_attempt_counts(name, request)
    _set_refusal(request, SignInRefusal(record_failure(counts, name, person)))


def _signed_in(sender: Any, request: HttpRequest, user: User, **_signal: Any) -> None:
    counts, _person = list_attempt_counts(user.get_username(), request)
    clear_failures(*counts, get_person_count(user))
