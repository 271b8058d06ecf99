"""Finds the active alarms: conditions that need action, each with a sentence and an instruction.

This module only reads. `alerts` notifies people once; the dashboard shows an alarm while it lasts.
docs/runbooks.md explains each alarm under its key.
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
from ingestion.dispatch import demand
from ingestion.dispatch.processes import host_heartbeat
from ingestion.documents.stuck_sites import find_stuck_sites
from ingestion.models import AlarmMessage, Document, Mailbox
from ingestion.rules.finding_texts import get_short_text
from ingestion.storage import disk_space, object_locks
from sites import account_notices
from sites.models import Study

logger = logging.getLogger(__name__)

LOCKOUT_EVENTS = ("signin.locked", "user.locked")  # events of the ledger
LOCKOUT_WINDOW = timedelta(hours=1)  # how long a lockout is reported
MAX_NAMED = 5  # people or studies in one sentence
ALERT_KIND_PREFIX = "alert."  # of the kinds of messages in the outbox
MIN_FAILED_ATTEMPTS = 3  # after so many failures of a message, its channel counts as failing
_ADDRESS_CHARACTER = r"[^\s<>(){}\[\],;:']"
# An email address, also one that was cut off.
_ADDRESS = re.compile(f"{_ADDRESS_CHARACTER}*@{_ADDRESS_CHARACTER}*")


@dataclass(frozen=True, slots=True)
class Alarm:
    """A condition that needs action. `key` identifies it while it lasts."""

    key: str
    text: str
    action: str  # begins with a verb; a command is between backticks
    page: str = "ops"  # the name of the view that shows more
    is_critical: bool = False


@dataclass(frozen=True, slots=True)
class AlarmSnapshot:
    """The active alarms, and the first parts of keys that could not be checked just now."""

    alarms: tuple[Alarm, ...]
    unknown: frozenset[str]

    @property
    def keys(self) -> set[str]:
        """Return the keys of the alarms."""
        return {alarm.key for alarm in self.alarms}

    def is_over(self, key: str) -> bool:
        """Return whether an alarm was checked and is not active."""
        return key not in self.keys and key.partition(":")[0] not in self.unknown


def find_alarms() -> AlarmSnapshot:
    """Return the active alarms, critical ones first. The number of queries is fixed."""
    found: list[Alarm] = []
    unknown = set()
    for source, find in _SOURCES.items():
        try:
            found += find()
        except Exception:  # A source that fails must not hide the alarms of the others.
            logger.exception("the alarm %s could not be checked", source)
            unknown.add(source)
    found.sort(key=lambda alarm: not alarm.is_critical)
    return AlarmSnapshot(tuple(found), frozenset(unknown))


def _find_chain_alarm() -> Iterator[Alarm]:
    verdict = ledger_status.get_current_verdict()
    if verdict.result == Result.BROKEN:
        reason_found = next(iter(verdict.reasons), _("See the last verification."))
        yield Alarm(
            "chain",
            _("The audit trail is broken. {reason}").format(reason=reason_found),
            _(
                "Do not create exports and do not delete anything. Run "
                "`manage.py verify_audit --full`, compare the result with the checkpoints that the "
                "anchors hold, and inform QA."
            ),
            "trail_chain",
            is_critical=True,
        )


def _find_anchor_alarms() -> Iterator[Alarm]:
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


def _find_unsigned_alarm() -> Iterator[Alarm]:
    since = ledger_status.get_unsigned_since()
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


def _find_workers_alarm() -> Iterator[Alarm]:
    seen = host_heartbeat.get_last_heartbeat_at()
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
            is_critical=True,
        )


def _find_backlog_alarm() -> Iterator[Alarm]:
    waiting = demand.get_oldest_claimable_seconds()
    if waiting > settings.BACKLOG_ALARM_SECONDS:
        loads = host_heartbeat.list_loads()
        busy, workers = sum(host.busy for host in loads), sum(host.workers for host in loads)
        sentence = _(
            "Documents have been waiting for a worker for {minutes} minutes. Busy workers: {busy} "
            "of {workers}."
        )
        yield Alarm(
            "backlog",
            sentence.format(minutes=round(waiting / 60), busy=busy, workers=workers),
            _(
                "Start another worker host, or set SCALE_MAX_HOSTS higher. If workers are idle, "
                "restart their host and read its log."
            ),
        )


def _find_held_alarm() -> Iterator[Alarm]:
    held = Document.objects.held().order_by("code")
    codes = dict(held.values_list("code").annotate(Count("pk")))
    if codes:
        total = sum(codes.values())
        reasons = "; ".join(f"{get_short_text(code)} ({number})" for code, number in codes.items())
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


def _find_stuck_sites_alarm() -> Iterator[Alarm]:
    """Yield an alarm for the sites of batches that make no progress."""
    stuck = find_stuck_sites(timezone.now())
    sites = {each.site: each for each in reversed(stuck)}  # each with its longest wait
    if sites:
        longest = sorted(sites.values(), key=lambda each: each.since)
        names = [str(each) for each in longest[:MAX_NAMED]]
        sentence = ngettext(
            "{n} site makes no progress: {sites}.",
            "{n} sites make no progress: {sites}.",
            len(sites),
        )
        yield Alarm(
            "stuck_sites",
            sentence.format(n=len(sites), sites=_named(names, len(sites))),
            _(
                "See the page Stuck items for the documents. If the portal of a site does not "
                "respond, ask the site to upload the documents instead. If no worker has claimed "
                "them, start another worker host."
            ),
            "ops_stuck",
        )


def _find_disk_alarm() -> Iterator[Alarm]:
    if low := disk_space.describe_low_space():
        yield Alarm(
            "disk",
            _("The disk is nearly full: {folder}.").format(folder=low),
            _(
                "Free disk space, or move the folder to a larger disk. `manage.py prune` removes "
                "working data of finished batches. Documents that cannot be stored are held, not "
                "lost."
            ),
            is_critical=True,
        )


def _find_locked_alarm() -> Iterator[Alarm]:
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


def _find_channel_alarms() -> Iterator[Alarm]:
    """Yield the channels on which a message failed several times and none was sent since."""
    rows = AlarmMessage.objects.order_by().values_list("channel")
    last_sent_at = dict(rows.annotate(Max("sent_at")))
    errors = {}
    for message in OutboxMessage.objects.filter(
        kind__startswith=ALERT_KIND_PREFIX, attempts__gte=MIN_FAILED_ATTEMPTS
    ):
        channel = message.kind.removeprefix(ALERT_KIND_PREFIX)
        sent_at = last_sent_at.get(channel)
        if sent_at is None or sent_at < message.due_at:
            errors[channel] = message.error
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


def _find_account_mail_alarm() -> Iterator[Alarm]:
    """Yield an alarm for links for passwords and notices of changed accounts that were not sent."""
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


def _find_digests_alarm() -> Iterator[Alarm]:
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


def _without_addresses(text: str) -> str:
    """Remove email addresses, because mail servers quote them and alerts go to other companies."""
    return _ADDRESS.sub(_("(address removed)"), text)


def _named(names: list[str], total: int) -> str:
    """Return the names, and how many of `total` are left out."""
    listed, left_out = ", ".join(names), total - len(names)
    if left_out <= 0:
        return listed
    more = ngettext("{names} and {n} more", "{names} and {n} more", left_out)
    return more.format(names=listed, n=left_out)


def _find_locks_alarm() -> Iterator[Alarm]:
    """Yield an alarm for studies whose documents S3 did not lock as the ledger requires."""
    refused = list(object_locks.find_refused_changes())
    studies = dict.fromkeys(message.payload["study"] for message in refused)
    numbers = dict(Study.objects.filter(pk__in=studies).values_list("pk", "protocol_number"))
    if refused:
        names = [numbers[study] for study in studies if study in numbers]
        sentence = _(
            "The archive bucket does not lock documents as required. Studies: {studies}. {error}"
        )
        yield Alarm(
            "locks",
            sentence.format(studies=_named(names[:MAX_NAMED], len(names)), error=refused[0].error),
            _(
                "Check the bucket, and check that SiteLedger has the permissions "
                "s3:PutObjectRetention and s3:PutObjectLegalHold on it. Then run "
                "`manage.py lock_archive`. It retries at once and reports the error."
            ),
        )


_SOURCES: Mapping[str, Callable[[], Iterable[Alarm]]] = {
    "chain": _find_chain_alarm,
    "workers": _find_workers_alarm,
    "backlog": _find_backlog_alarm,
    "disk": _find_disk_alarm,
    "anchor": _find_anchor_alarms,
    "unsigned": _find_unsigned_alarm,
    "held": _find_held_alarm,
    "stuck_sites": _find_stuck_sites_alarm,
    "locked": _find_locked_alarm,
    "telling": _find_channel_alarms,
    "account_mail": _find_account_mail_alarm,
    "digests": _find_digests_alarm,
    "locks": _find_locks_alarm,
}
