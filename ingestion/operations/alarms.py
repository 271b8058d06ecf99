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
from django.db.models import Count, Max
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from audit.ledger import queries
from audit.ledger.queries import EntrySearch
from audit.outbox import OutboxMessage
from audit.signing import anchors
from audit.verification import ledger_status
from audit.verification.verify import Result
from ingestion.dispatch.processes import host_heartbeat
from ingestion.models import AlarmMessage, Document, LockChange, Mailbox
from ingestion.rules.finding_texts import reason
from ingestion.storage import disk_space
from sites import account_notices

logger = logging.getLogger(__name__)

LOCKOUT_EVENTS = ("signin.locked", "user.locked")  # the ledger's events
LOCKOUT_WINDOW = timedelta(hours=1)  # an account that was locked is news for so long
MAX_NAMED = 5  # people in one sentence
MIN_FAILED_ATTEMPTS = 3  # messages that failed so often say that their channel does not work
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
class AlarmSnapshot:
    """`unknown` are the beginnings of keys of which nothing could be found out just now."""

    alarms: tuple[Alarm, ...]
    unknown: frozenset[str]

    @property
    def keys(self) -> set[str]:
        return {alarm.key for alarm in self.alarms}

    def is_over(self, key: str) -> bool:
        """It does not ring, and it could have."""
        return key not in self.keys and key.partition(":")[0] not in self.unknown


def find_alarms() -> AlarmSnapshot:
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
    return AlarmSnapshot(tuple(found), frozenset(unknown))


def _chain() -> Iterator[Alarm]:
    verdict = ledger_status.current_verdict()
    if verdict.result == Result.BROKEN:
        reason_found = next(iter(verdict.reasons), _("see the last verification"))
        yield Alarm(
            "chain",
            _("The audit trail is broken: {reason}").format(reason=reason_found),
            _(
                "Do not create exports and do not delete anything. Run "
                "`manage.py verify_audit --full`, compare the result with the checkpoints that the "
                "anchors hold, and inform QA."
            ),
            "trail_chain",
            is_grave=True,
        )


def _anchor() -> Iterator[Alarm]:
    patience = timedelta(seconds=settings.AUDIT_UNANCHORED_SECONDS)
    for waiting in anchors.list_unanchored():
        if timezone.now() - waiting.since > patience:
            yield Alarm(
                f"anchor:{waiting.anchor}",
                _("Checkpoints of the audit trail are not anchored. {details}").format(
                    details=waiting
                ),
                _(
                    "Check the anchor and its credentials, then run `manage.py checkpoint`. It "
                    "retries at once and reports the error."
                ),
                "trail_chain",
            )


def _unsigned() -> Iterator[Alarm]:
    since = ledger_status.unsigned_since()
    patience = timedelta(seconds=settings.AUDIT_UNANCHORED_SECONDS)
    if since and timezone.now() - since > patience:
        yield Alarm(
            "unsigned",
            _(
                "No checkpoint covers the entries of the audit trail that were recorded since "
                "{time} UTC."
            ).format(time=f"{since:%Y-%m-%d %H:%M}"),
            _(
                "Run `manage.py checkpoint` on a host that has the signing key. It signs a "
                "checkpoint or reports why it cannot. If there is no key, run "
                "`manage.py audit_keys create` first."
            ),
            "trail_chain",
        )


def _workers() -> Iterator[Alarm]:
    seen = host_heartbeat.last_heartbeat_at()
    silence = timedelta(seconds=settings.WORKER_SILENT_SECONDS)
    if seen is None or timezone.now() - seen > silence:
        since = _("No worker heartbeat since {time} UTC. Documents are waiting, and none is lost.")
        never = _("No worker heartbeat yet. Documents are waiting, and none is lost.")
        yield Alarm(
            "workers",
            since.format(time=f"{seen:%Y-%m-%d %H:%M:%S}") if seen else never,
            _(
                "Start a worker host: `manage.py workers`. If one is running, its log shows why it "
                "cannot reach the database."
            ),
            is_grave=True,
        )


def _held() -> Iterator[Alarm]:
    held = Document.objects.held().order_by("code")
    codes = dict(held.values_list("code").annotate(Count("pk")))
    if codes:
        total = sum(codes.values())
        reasons = "; ".join(f"{reason(code)} ({number})" for code, number in codes.items())
        sentence = ngettext(
            "{n} document is held. {reasons}.", "{n} documents are held. {reasons}.", total
        )
        yield Alarm(
            "held",
            sentence.format(n=total, reasons=reasons),
            _(
                "Fix the cause, then retry the documents on the page Stuck items or with "
                "`manage.py retry --code CODE`."
            ),
            "ops_stuck",
        )


def _disk() -> Iterator[Alarm]:
    if low := disk_space.describe_low_space():
        yield Alarm(
            "disk",
            _("The disk is nearly full: {folder}.").format(folder=low),
            _(
                "Free disk space, or move the folder to a larger disk. `manage.py prune` removes "
                "working data of finished batches. Documents that cannot be stored are held, not "
                "lost."
            ),
            is_grave=True,
        )


def _locked() -> Iterator[Alarm]:
    since = timezone.now() - LOCKOUT_WINDOW
    count = sum(
        queries.count_entries(EntrySearch(event=event, since=since)) for event in LOCKOUT_EVENTS
    )
    if count:
        sentence = ngettext(
            "A sign-in was locked in the last hour after failed attempts.",
            "Sign-ins were locked {n} times in the last hour after failed attempts.",
            count,
        )
        yield Alarm(
            "locked",
            sentence.format(n=count),
            _(
                "Find the accounts and addresses in the audit trail. If the account owner did not "
                "try to sign in, inform the security team about a possible attack."
            ),
            "trail",
        )


def _telling() -> Iterator[Alarm]:
    """Yield the channels on which a message failed several times and none was sent since."""
    sent = AlarmMessage.objects.order_by().values_list("channel")
    last_sent = dict(sent.annotate(Max("sent_at")))
    failing = OutboxMessage.objects.filter(
        kind__startswith="alert.", attempts__gte=MIN_FAILED_ATTEMPTS
    )
    errors = {
        message.kind.removeprefix("alert."): message.error
        for message in failing
        if not (sent_at := last_sent.get(message.kind.removeprefix("alert.")))
        or sent_at < message.due_at
    }
    for channel, error in errors.items():
        yield Alarm(
            f"telling:{channel}",
            _without_addresses(
                _("Alarms cannot be sent by {channel}. {error}").format(
                    channel=channel, error=error
                )
            ),
            _(
                "Check ALERT_EMAILS and the mail server, or ALERT_WEBHOOK, then run "
                "`manage.py alerts`. It retries at once and reports the error."
            ),
        )


def _account_mail() -> Iterator[Alarm]:
    """Links for passwords, and notices of what another person changed in an account."""
    unsent = OutboxMessage.objects.filter(kind=account_notices.KIND.name).exclude(error="")
    unsent = unsent.exclude(state=OutboxMessage.State.DEAD).order_by("pk")
    if first := unsent.first():
        count = unsent.count()
        sentence = ngettext(
            "{n} email about an account could not be sent. {error}",
            "{n} emails about accounts could not be sent. {error}",
            count,
        )
        yield Alarm(
            "account_mail",
            _without_addresses(sentence.format(n=count, error=first.error)),
            _(
                "Check EMAIL_HOST and the mail server. SiteLedger retries for three days. Until "
                "the email is sent, `manage.py account_link USER` prints a password link."
            ),
        )


def _digests() -> Iterator[Alarm]:
    failing = Mailbox.objects.exclude(error="").filter(is_wanted=True).select_related("user")
    if boxes := list(failing.order_by("pk")[:MAX_NAMED]):
        names = _named([str(box.user) for box in boxes], failing.count())
        sentence = _("Email to site staff cannot be sent: {names}. {error}")
        yield Alarm(
            "digests",
            _without_addresses(sentence.format(names=names, error=boxes[0].error)),
            _(
                "Check EMAIL_HOST, the mail server, and the email address in each account. The "
                "next email contains everything that this one would have contained."
            ),
        )


def _without_addresses(said: str) -> str:
    """Mail servers quote whom they refuse, and an alarm goes out to webhooks of other companies."""
    return _ADDRESS.sub(_("(address removed)"), said)


def _named(names: list[str], total: int) -> str:
    """Return the names, and how many of `total` are left out."""
    listed, left_out = ", ".join(names), total - len(names)
    if left_out <= 0:
        return listed
    more = ngettext("{names} and {n} more", "{names} and {n} more", left_out)
    return more.format(names=listed, n=left_out)


def _locks() -> Iterator[Alarm]:
    """Studies whose documents S3 would not lock as the ledger says."""
    refused = LockChange.objects.exclude(error="").order_by("pk")
    rows = list(refused.values_list("study__protocol_number", "error"))
    if rows:
        names = list(dict.fromkeys(number for number, error in rows))
        sentence = _(
            "The archive bucket does not lock documents as required. Studies: {studies}. {error}"
        )
        yield Alarm(
            "locks",
            sentence.format(studies=_named(names[:MAX_NAMED], len(names)), error=rows[0][1]),
            _(
                "Check the bucket, and check that SiteLedger has the permissions "
                "s3:PutObjectRetention and s3:PutObjectLegalHold on it. Then run "
                "`manage.py lock_archive`. It retries at once and reports the error."
            ),
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
