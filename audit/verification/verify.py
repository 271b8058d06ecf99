"""Verifies the ledger, and states how strong the result is.

Entries are streamed, so that memory use does not grow with the trail.

Checked: each line against its hash, its number and its predecessor; each column against the line it
copies; each detail against its commitment; the times (`audit.verification.scan`); the tree over the
lines against every signed checkpoint, of the database and of write-once places
(`audit.verification.checkpoint_verification`); the end of the last check; the triggers; and the
checks that other packages register, such as a comparison of rows with their last entries.
`audit.verification.start` defines what each mode reads, and `audit.verification.runs` stores the
result. Nothing is written here.

A person who can write to every file of the installation can edit an entry, renew every later hash
and sign the result. Only an anchor that this person cannot rewrite reveals that. The result is
therefore INTACT only if every entry was read and an independent anchor vouches for them
(`audit.verification.independence`). Another ledger without contradictions is UNANCHORED: it is
consistent, but only this installation itself confirms it.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

from django.db import connection
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from audit.ledger import append_only
from audit.ledger.chain import ChainBreak
from audit.models import CheckRun, Entry
from audit.signing.signed_note import Verifier
from audit.verification import checkpoint_verification, independence
from audit.verification.checkpoint_verification import AnchoredNotes
from audit.verification.independence import AnchorJudgement
from audit.verification.scan import Progress, Scan
from audit.verification.start import (
    Mode,
    ScanPlan,
    get_last_checked_seq,
    plan_scans,
    read_notes_after,
)
from audit.verification.tlog_policy import Policy


class VerificationNotice(str):
    """A sentence of a check that informs and does not report a fault."""

    __slots__ = ()


# Yields sentences on problems with data that was recorded after this entry; 0 for all data.
RegisteredCheck = Callable[[int], Iterable[str]]
MAX_PROBLEMS = 100  # in a verdict; further problems are counted
NOT_READ_BACK = gettext_noop("The anchors were not read back in this verification.")

Result = CheckRun.Result
EXIT_CODES = {Result.INTACT: 0, Result.BROKEN: 1, Result.UNANCHORED: 3}
COULD_NOT_RUN = 2  # the exit code of a check without a verdict

_checks: list[RegisteredCheck] = []


@dataclass(frozen=True, slots=True)
class LedgerVerdict:
    """The result of a check. All entries read up to `entries` are valid; `head` is its hash."""

    mode: Mode
    from_seq: int  # the first entry that was read; older ones were valid in the last check
    reread: tuple[int, int] | None  # the first and the last older entry that was read once more
    entries: int
    entries_read: int  # in this check
    relied_on: str  # a sentence: on what this check relies for the others; "" if it read all
    head: str
    seconds: float
    first_bad: ChainBreak | None
    problems: tuple[str, ...]  # at most MAX_PROBLEMS, each a sentence
    notices: tuple[str, ...]  # no faults
    vouched_to: int | None  # entries that an independent anchor vouches for; None: none was asked
    vouched_by: tuple[str, ...]  # addresses of the anchors that do
    unanchored: tuple[str, ...]  # why no independent anchor vouches for the ledger

    @property
    def intact(self) -> bool:
        """Return whether all data that was read is consistent. `result` is the verdict."""
        return self.first_bad is None and not self.problems

    @property
    def result(self) -> CheckRun.Result:
        """Return the verdict, as commands, pages, metrics and reports have it."""
        if not self.intact:
            return Result.BROKEN
        return Result.UNANCHORED if self.unconfirmed else Result.INTACT

    @property
    def unconfirmed(self) -> tuple[str, ...]:
        """Return sentences that state why only this installation itself confirms the ledger."""
        return (*filter(None, [self.relied_on]), *self.unanchored)


def register_check(check: RegisteredCheck) -> RegisteredCheck:
    """Add a check that yields a sentence for each problem; usable as a decorator."""
    if check not in _checks:
        _checks.append(check)
    return check


def verify_ledger(
    mode: Mode = Mode.FULL,
    *,
    with_anchors: bool = True,
    policy: Policy | None = None,
    progress: Progress = lambda _done, _total: None,
) -> LedgerVerdict:
    """Verify the entries that the mode selects. Raises CannotVerify and database errors.

    Without anchors nothing is fetched over the network, for the check after each batch. A policy
    states which keys are trusted, instead of the published keys of this installation, and which
    places have to vouch for the ledger.
    """
    began = time.monotonic()
    last_seq = get_last_checked_seq()
    logs = policy.logs if policy else None
    after = read_notes_after(mode, last_seq)
    anchored = (
        checkpoint_verification.read_anchors(after, logs) if with_anchors else AnchoredNotes()
    )
    scans = _create_scans(plan_scans(mode, anchored, last_seq), anchored, logs, progress)
    tail = scans[-1]
    # Rows can change without an entry. Only checks after a batch leave out old rows.
    since = 0 if with_anchors or mode in {Mode.FULL, Mode.ROLLING} else tail.start.seq
    notices: list[str] = []
    problems = tuple(_limited(_find_problems(anchored, scans, since, notices)))
    broken = next((scan for scan in scans if scan.first_bad), tail)
    entries, head = broken.valid_to
    reread = scans[0] if len(scans) > 1 else None
    judgement = (
        independence.judge_anchors(anchored.read, policy)
        if with_anchors
        else AnchorJudgement(reasons=(_(NOT_READ_BACK),))
    )
    if problems or broken.first_bad:
        judgement = replace(judgement, vouched_to=0, vouched_by=())
    return LedgerVerdict(
        mode=mode,
        from_seq=tail.start.seq + 1,
        reread=(reread.start.seq + 1, reread.end or 0) if reread else None,
        entries=entries,
        entries_read=sum(scan.valid_to[0] - scan.start.seq for scan in scans),
        relied_on=_describe_reliance(tail.start.seq, reread, after),
        head=head,
        seconds=time.monotonic() - began,
        first_bad=broken.first_bad,
        problems=problems,
        notices=(
            *chain.from_iterable(scan.times.notices() for scan in scans),
            *judgement.notices,
            *_limited(iter(notices)),
        ),
        vouched_to=judgement.vouched_to if with_anchors else None,
        vouched_by=judgement.vouched_by,
        unanchored=judgement.reasons,
    )


def _describe_reliance(last_seq: int, reread: Scan | None, after: int) -> str:
    """Return sentences on what the check relies on for entries and notes that it does not read.

    Entries up to `last_seq` and notes up to `after` were not read. Such notes may contradict
    entries that were rewritten together with all newer notes. Return "" if all was read.
    """
    if not last_seq and not after:
        return ""
    if not last_seq:
        return ngettext(
            "Only the anchors' notes of more than {n} entry were read back. For the others, this "
            "verification relies on earlier verifications. Run `manage.py verify_audit --full` to "
            "read all of them.",
            "Only the anchors' notes of more than {n} entries were read back. For the others, this "
            "verification relies on earlier verifications. Run `manage.py verify_audit --full` to "
            "read all of them.",
            after,
        ).format(n=f"{after:,}")
    if reread:
        skipped = _(
            "Entries 1 to {last} were not read, except for {first_read} to {last_read}."
        ).format(
            last=f"{last_seq:,}",
            first_read=f"{reread.start.seq + 1:,}",
            last_read=f"{reread.end or 0:,}",
        )
    else:
        skipped = _("Entries 1 to {last} were not read.").format(last=f"{last_seq:,}")
    reliance = ngettext(
        "For them, this verification relies on the checkpoint of {n} entry and on earlier "
        "verifications, which this installation itself stores.",
        "For them, this verification relies on the checkpoint of {n} entries and on earlier "
        "verifications, which this installation itself stores.",
        last_seq,
    ).format(n=f"{last_seq:,}")
    if whole := CheckRun.objects.filter(from_seq=1).exclude(result=Result.BROKEN).first():
        last_full = _(
            "The last verification that read all entries was number {number} at {time} UTC, up to "
            "entry {seq}."
        ).format(
            number=whole.pk,
            time=f"{whole.began_at:%Y-%m-%d %H:%M:%S}",
            seq=f"{whole.to_seq:,}",
        )
    else:
        last_full = _("No stored verification has read all entries.")
    advice = _("Run `manage.py verify_audit --full` to read every entry.")
    return " ".join([skipped, reliance, last_full, advice])


def _create_scans(
    planned: ScanPlan,
    anchored: AnchoredNotes,
    logs: Sequence[Verifier] | None,
    progress: Progress,
) -> list[Scan]:
    """Return the scans in order. The last one reads to the end of the trail."""
    scans = []
    if (reread := planned.reread) is not None:
        last_seq = planned.reread_to
        claims = checkpoint_verification.iter_claims(reread.seq, last_seq, anchored.claims, logs)
        scans.append(Scan(reread, claims, end=last_seq, progress=progress))
    claims = checkpoint_verification.iter_claims(planned.tail.seq, None, anchored.claims, logs)
    return [*scans, Scan(planned.tail, claims, progress=progress)]


def _find_problems(
    anchored: AnchoredNotes, scans: Iterable[Scan], since: int, notices: list[str]
) -> Iterator[str]:
    """Yield the problems, each as a sentence, and add the notices of registered checks."""
    yield from anchored.problems
    yield from _compare_with_last_check()
    for scan in scans:
        yield from scan.problems()
    for name in append_only.find_missing_triggers(connection):
        sentence = _("The trigger {name}, which protects the ledger, is missing or changed.")
        yield sentence.format(name=name)
    for check in _checks:
        for sentence in check(since):
            if isinstance(sentence, VerificationNotice):
                notices.append(sentence)
            else:
                yield sentence


def _compare_with_last_check() -> Iterator[str]:
    """Yield a sentence if the last entry of the last check is missing or has another hash."""
    last = CheckRun.objects.exclude(result=Result.BROKEN).order_by("-pk").first()
    if last is None or not last.to_seq:
        return
    found = Entry.objects.filter(seq=last.to_seq).values_list("hash", flat=True).first()
    if found == last.head:
        return
    if found:
        sentence = _(
            "The trail differs from the one that was verified at {time} UTC: entry {seq} has "
            "another hash."
        )
    else:
        sentence = _(
            "The trail differs from the one that was verified at {time} UTC: entry {seq} is "
            "missing."
        )
    yield sentence.format(time=f"{last.began_at:%Y-%m-%d %H:%M:%S}", seq=f"{last.to_seq:,}")


def _limited(problems: Iterator[str]) -> Iterator[str]:
    yield from islice(problems, MAX_PROBLEMS - 1)
    if more := sum(1 for _problem in problems):
        yield ngettext("And {n} more.", "And {n} more.", more).format(n=more)
