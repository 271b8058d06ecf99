"""What somebody has to see to, as it is now: each with a sentence, and what to do about it.

Only looks. `alerts` tells people, once; the dashboard shows them for as long as they last. Each is
explained in docs/runbooks.md under its key.
"""

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db.models import Count
from django.utils import timezone

from audit.ledger import queries
from audit.ledger.queries import Search
from audit.signing import anchors
from audit.verification import ledger_status
from audit.verification.verify import Result
from ingestion.dispatch.processes import host_heartbeat
from ingestion.models import AlarmMessage, Document, LockChange, Mailbox
from ingestion.rules.finding_texts import reason
from ingestion.storage import disk_space
from sites.models import AccountNotice

logger = logging.getLogger(__name__)

LOCKED = ("signin.locked", "user.locked")  # the ledger's events
LOCKED_FOR = timedelta(hours=1)  # an account that was locked is news for so long
MOST_NAMED = 5  # people in one sentence
TRIED_IN_VAIN = 3  # messages that failed so often say that their channel does not work
_OF_A_WORD = r"[^\s<>(){}\[\],;:']"
_ADDRESS = re.compile(f"{_OF_A_WORD}*@{_OF_A_WORD}*")  # of mail, also one that was cut off


@dataclass(frozen=True, slots=True)
class Alarm:
    """`key` names it from its beginning to its end: of one key, one alarm rings at a time."""

    key: str
    said: str
    do: str  # begins with a verb; what stands between `` is a command
    page: str = "ops"  # the name of the address where more is to be seen
    is_grave: bool = False


@dataclass(frozen=True, slots=True)
class Look:
    """`unknown` are the beginnings of keys of which nothing could be found out just now."""

    alarms: tuple[Alarm, ...]
    unknown: frozenset[str]

    @property
    def keys(self) -> set[str]:
        return {alarm.key for alarm in self.alarms}

    def is_over(self, key: str) -> bool:
        """It does not ring, and it could have."""
        return key not in self.keys and key.partition(":")[0] not in self.unknown


def look() -> Look:
    """The gravest first. A fixed number of queries, however much there is of anything."""
    found: list[Alarm] = []
    unknown = set()
    for source, ask in _SOURCES.items():
        try:
            found += ask()
        except Exception:  # one that cannot be asked silences none of the others
            logger.exception("whether the alarm %s rings cannot be said", source)
            unknown.add(source)
    found.sort(key=lambda alarm: not alarm.is_grave)
    return Look(tuple(found), frozenset(unknown))


def _chain() -> Iterator[Alarm]:
    verdict = ledger_status.current_verdict()
    if verdict.result == Result.BROKEN:
        why = next(iter(verdict.reasons), "see the last check")
        yield Alarm(
            "chain",
            f"The audit trail is broken: {why}",
            "Make no exports and delete nothing. Run `manage.py verify_audit --full`, compare with "
            "the checkpoints that are held elsewhere, and tell QA.",
            "trail_chain",
            is_grave=True,
        )


def _anchor() -> Iterator[Alarm]:
    patience = timedelta(seconds=settings.AUDIT_UNANCHORED_SECONDS)
    for waiting in anchors.unanchored():
        if timezone.now() - waiting.since > patience:
            yield Alarm(
                f"anchor:{waiting.anchor}",
                f"Signed heads of the audit trail are not held elsewhere. {waiting}",
                "Look at the place and its credentials, then run `manage.py checkpoint`: it tries "
                "at once and says what is wrong.",
                "trail_chain",
            )


def _unsigned() -> Iterator[Alarm]:
    since = ledger_status.unsigned_since()
    patience = timedelta(seconds=settings.AUDIT_UNANCHORED_SECONDS)
    if since and timezone.now() - since > patience:
        yield Alarm(
            "unsigned",
            f"Entries of the audit trail are not signed, since {since:%Y-%m-%d %H:%M} UTC.",
            "Run `manage.py checkpoint` on a host that has the key: it signs, or says why it "
            "cannot. Without a key, run `manage.py audit_keys create` first.",
            "trail_chain",
        )


def _workers() -> Iterator[Alarm]:
    seen = host_heartbeat.last_seen()
    silence = timedelta(seconds=settings.WORKER_SILENT_SECONDS)
    if seen is None or timezone.now() - seen > silence:
        since = f"since {seen:%Y-%m-%d %H:%M:%S} UTC" if seen else "and none has taken part yet"
        yield Alarm(
            "workers",
            f"No worker gives a sign, {since}. Documents wait; nothing is lost.",
            "Start one on a worker host: `manage.py workers`. If one runs, its log says why it "
            "cannot reach the database.",
            is_grave=True,
        )


def _held() -> Iterator[Alarm]:
    held = Document.objects.held().order_by("code")
    codes = dict(held.values_list("code").annotate(Count("pk")))
    if codes:
        total = sum(codes.values())
        why = "; ".join(f"{reason(code)} ({number})" for code, number in codes.items())
        said = "1 document is held" if total == 1 else f"{total} documents are held"
        yield Alarm(
            "held",
            f"{said}. {why}.",
            "Mend what held them, then try them again on the page of stuck items, or with "
            "`manage.py retry --code CODE`.",
            "ops_stuck",
        )


def _disk() -> Iterator[Alarm]:
    if low := disk_space.low():
        yield Alarm(
            "disk",
            f"The disk is nearly full: {low}.",
            "Make room, or give the folder a larger disk. `manage.py prune` removes what finished "
            "batches left behind. What cannot be kept is held, not lost.",
            is_grave=True,
        )


def _locked() -> Iterator[Alarm]:
    since = timezone.now() - LOCKED_FOR
    count = sum(queries.count(Search(event=event, since=since)) for event in LOCKED)
    if count:
        times = "once" if count == 1 else f"{count} times"
        yield Alarm(
            "locked",
            f"Sign-ins were locked after failures, {times} within the last hour.",
            "Look in the audit trail who and from where. If it was not the person, somebody tries "
            "passwords: tell security.",
            "trail",
        )


def _telling() -> Iterator[Alarm]:
    """A channel that failed several times, and nothing got out by it since."""
    failing = AlarmMessage.objects.failing(TRIED_IN_VAIN).order_by("channel", "pk")
    for channel, error in dict(failing.values_list("channel", "error")).items():
        yield Alarm(
            f"telling:{channel}",
            _without_addresses(f"Alarms do not get out by {channel}. {error}"),
            "Check ALERT_EMAILS and the mail server, or ALERT_WEBHOOK, then run "
            "`manage.py alerts`: it tries at once and says what is wrong.",
        )


def _account_mail() -> Iterator[Alarm]:
    """Links for passwords, and notices of what another person changed in an account."""
    unsent = AccountNotice.objects.unsent().exclude(error="").order_by("pk")
    if first := unsent.first():
        yield Alarm(
            "account_mail",
            _without_addresses(
                f"{unsent.count()} mail about accounts could not be sent. {first.error}"
            ),
            "Check EMAIL_HOST and the mail server. The mail is tried again for three days. Until "
            "it is sent, `manage.py account_link USER` prints a link for a password.",
        )


def _digests() -> Iterator[Alarm]:
    failing = Mailbox.objects.exclude(error="").filter(is_wanted=True).select_related("user")
    if boxes := list(failing.order_by("pk")[:MOST_NAMED]):
        names = ", ".join(str(box.user) for box in boxes)
        count = failing.count()
        more = f" and {count - len(boxes)} more" if count > len(boxes) else ""
        said = f"Mail to people of sites does not get out: {names}{more}. {boxes[0].error}"
        yield Alarm(
            "digests",
            _without_addresses(said),
            "Check EMAIL_HOST and the mail server, and the address in the person's account. The "
            "next digest tells what this one would have.",
        )


def _without_addresses(said: str) -> str:
    """Mail servers quote whom they refuse, and an alarm goes out to webhooks of other companies."""
    return _ADDRESS.sub("(an address)", said)


def _locks() -> Iterator[Alarm]:
    """Studies whose documents S3 would not lock as the ledger says."""
    refused = LockChange.objects.exclude(error="").order_by("pk")
    rows = list(refused.values_list("study__protocol_number", "error"))
    if rows:
        names = list(dict.fromkeys(number for number, _ in rows))
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        yield Alarm(
            "locks",
            "The archive's bucket does not lock documents as the ledger says, of the study "
            f"{', '.join(names[:MOST_NAMED])}{more}. {rows[0][1]}",
            "Look at the bucket, and whether we have the rights s3:PutObjectRetention and "
            "s3:PutObjectLegalHold on it; then run `manage.py lock_archive`: it tries at once and "
            "says what is wrong.",
        )


_SOURCES: Mapping[str, Callable[[], Iterable[Alarm]]] = {
    "chain": _chain,
    "workers": _workers,
    "disk": _disk,
    "anchor": _anchor,
    "unsigned": _unsigned,
    "held": _held,
    "locked": _locked,
    "telling": _telling,
    "account_mail": _account_mail,
    "digests": _digests,
    "locks": _locks,
}
