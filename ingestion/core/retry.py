"""Decides what follows when a request to a portal failed: another request, or the end.

To change how often and how long a kind of failure is retried, edit `RetryRules.policies`. A value
that an installation may set is a field of `RetryRules`, which `config.settings` fills from the
environment. The module is pure: the waiting is done by portal queues and rows.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ingestion.core.errors import (
    BodyTruncated,
    ChecksumDiffers,
    IngestionError,
    OurFault,
    PortalFailing,
    PortalThrottled,
    PortalUnreachable,
    TransientError,
)
from ingestion.core.ports import EarlyDecision, FetchFailure, WorkItem

Uniform = Callable[[float, float], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Says how often and how long one kind of failure is retried."""

    # Failed requests until the document is rejected. None: the portal is to blame, so the number is
    # not limited, and the document is held when its deadline has passed.
    max_tries: int | None
    backoff_base_seconds: float  # doubled with each try
    backoff_cap_seconds: float
    # From this number of tries on, the second cap applies. None: it never does.
    slow_from_tries: int | None = None
    slow_backoff_cap_seconds: float = 0.0

    @property
    def blames_portal(self) -> bool:
        """Return whether the portal is to blame, so that the tries are not limited."""
        return self.max_tries is None

    def is_exhausted(self, counted_tries: int) -> bool:
        """Return whether the document is rejected after so many failures that count against it."""
        return self.max_tries is not None and counted_tries >= self.max_tries

    def draw_backoff(self, tries: int, uniform: Uniform = random.uniform) -> float:
        """Return the seconds to wait after the `tries`-th request.

        Full jitter: the whole wait is drawn at random, so that the documents of one failing portal
        do not all return at once ("Exponential Backoff And Jitter", AWS Architecture Blog).
        """
        is_slow = self.slow_from_tries is not None and tries >= self.slow_from_tries
        cap = self.slow_backoff_cap_seconds if is_slow else self.backoff_cap_seconds
        return uniform(0.0, min(cap, self.backoff_base_seconds * 2 ** min(tries, 32)))


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryRules:
    """Holds the retry settings of an installation, and the policy of each kind of failure."""

    fetch_tries: int = 4  # failures while the portal served other documents, until rejection
    backoff_base_seconds: float = 0.5
    backoff_cap_seconds: float = 30.0
    outage_backoff_cap_seconds: float = 600.0  # after `fetch_tries` failures of the portal
    retry_after_cap_seconds: float = 21_600.0  # the longest waiting time a portal may ask for
    reschedule_seconds: float = 5.0  # after a longer wait, any shift may repeat the request
    deadline_seconds: float = 86_400.0  # from a document's first failure until it is held

    @property
    def document_policy(self) -> RetryPolicy:
        """Return the policy of failures that count against the document."""
        return RetryPolicy(
            max_tries=self.fetch_tries,
            backoff_base_seconds=self.backoff_base_seconds,
            backoff_cap_seconds=self.backoff_cap_seconds,
        )

    @property
    def portal_policy(self) -> RetryPolicy:
        """Return the policy of failures that say nothing about the document."""
        return RetryPolicy(
            max_tries=None,
            backoff_base_seconds=self.backoff_base_seconds,
            backoff_cap_seconds=self.backoff_cap_seconds,
            slow_from_tries=self.fetch_tries,
            slow_backoff_cap_seconds=self.outage_backoff_cap_seconds,
        )

    @property
    def policies(self) -> Mapping[type[TransientError], RetryPolicy]:
        """Return the policy of each kind of failure, while its portal serves other documents."""
        return {
            PortalUnreachable: self.portal_policy,
            PortalThrottled: self.portal_policy,
            PortalFailing: self.document_policy,
            BodyTruncated: self.document_policy,
            ChecksumDiffers: self.document_policy,
        }

    def policy_for(self, error: TransientError, *, is_portal_down: bool) -> RetryPolicy:
        """Return the policy of this failure. A portal that is down condemns no document."""
        return self.portal_policy if is_portal_down else self.policies[type(error)]


def decide_after_failure(
    error: IngestionError,
    item: WorkItem,
    rules: RetryRules,
    *,
    is_portal_down: bool,
    now: float,
    uniform: Uniform = random.uniform,
) -> FetchFailure | EarlyDecision:
    """Return what follows after a request for `item` failed with `error`.

    A `FetchFailure` says when the request is repeated. An `EarlyDecision` rejects the document
    if the portal serves others and not this one, and holds it if the portal is to blame.
    `now` is in local monotonic seconds, as `item.deadline` is.

    `Retry-After` is a lower bound that the portal set; the jitter is added to it.

    A mirror condemns no document: if it refuses one or has other bytes, the document waits for
    another source.
    """
    is_mirror = item.terms is not None and item.terms.is_mirror
    if isinstance(error, TransientError):
        policy = rules.policy_for(error, is_portal_down=is_portal_down or is_mirror)
        retry_after = error.retry_after or 0.0
    elif is_mirror and not isinstance(error, OurFault):
        policy, retry_after = rules.portal_policy, 0.0
    else:
        return decide_early(error, item)
    tries, counted = item.tries + 1, item.counted_tries + (not policy.blames_portal)
    deadline = now + rules.deadline_seconds if item.deadline is None else item.deadline
    wait = min(retry_after, rules.retry_after_cap_seconds)
    wait += policy.draw_backoff(tries, uniform)
    if policy.is_exhausted(counted) or now + wait > deadline:
        code = "PORTAL_UNAVAILABLE" if policy.blames_portal else error.code
        facts = {"tries": tries, **error.facts}
        return EarlyDecision(code=code, facts=facts, is_held=policy.blames_portal)
    return FetchFailure(
        code=error.code,
        facts={"fault": type(error).__name__, **error.facts},
        tries=tries,
        counted_tries=counted,
        deadline=deadline,
        wait_seconds=wait,
        leaves_shift=wait > rules.reschedule_seconds,
    )


def decide_early(error: IngestionError, item: WorkItem) -> EarlyDecision:
    """Return the decision after an error that no further request can heal.

    The document is held if SiteLedger is to blame, and rejected otherwise.
    """
    facts = {"tries": item.tries + 1, **error.facts}
    return EarlyDecision(code=error.code, facts=facts, is_held=isinstance(error, OurFault))
