"""The part of a worker host that signs when it is due, and anchors beside the work.

Hosts that have the key do both; the others only look at their clocks. To sign takes milliseconds
and is done at once. To anchor may take as long as somebody else's server likes: that is a thread's
business, one at a time, and nobody waits for it.
"""

import logging
import threading
import time
from collections.abc import Callable

from django.conf import settings
from django.db import DatabaseError, connections

from audit.ledger.chain import BrokenChain
from audit.signing import (
    anchors,
    checkpoints,
    clock,
    keys,
)
from audit.signing.checkpoints import SignedCheckpoint
from audit.signing.keys import KeyProblem

logger = logging.getLogger(__name__)

POLL_SECONDS = 10.0  # between looks at what others left, or what is to be tried again
RETRY_SECONDS = 60.0  # after a signing that could not be done
CLOCK_CHECK_SECONDS = 86_400.0


class CheckpointScheduler:
    """One per host; all but the anchoring happens in the thread that calls."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._sign_from = self._look_from = self._clock_from = now()
        self._beside: threading.Thread | None = None

    def look(self) -> None:
        """Often: costs one query while nothing is new. Raises DatabaseError."""
        is_new = self._now() >= self._sign_from and self._sign(checkpoints.sign_if_due)
        if is_new or self._now() >= self._look_from:
            self._look_from = self._now() + POLL_SECONDS
            if self._is_time_for_clocks() or (
                keys.has_private_key() and anchors.is_anchoring_due()
            ):
                self._start()

    def close(self) -> None:
        """Sign what is left and give the anchors a moment. What fails is done by the next host."""
        try:
            self._sign(checkpoints.sign_all)
        except DatabaseError:
            logger.exception("the last entries are not signed; the next host does it")
            return
        self._wait()
        self._start()
        self._wait()

    def _sign(self, sign: Callable[[], SignedCheckpoint | None]) -> bool:
        if not keys.has_private_key():
            return False  # the system check and `status` say so
        try:
            return sign() is not None
        except BrokenChain as error:
            logger.error("nothing is signed: the audit trail is broken at %s", error)  # noqa: TRY400 - its words say all
        except KeyProblem as error:
            logger.error("nothing is signed: %s", error)  # noqa: TRY400 - the same
        self._sign_from = self._now() + RETRY_SECONDS
        return False

    def _is_time_for_clocks(self) -> bool:
        return self._now() >= self._clock_from

    def _start(self) -> None:
        if self._beside is None or not self._beside.is_alive():
            # A daemon: a server that never answers does not keep a host from ending.
            self._beside = threading.Thread(target=self._work, name="notary", daemon=True)
            self._beside.start()

    def _wait(self) -> None:
        if self._beside:
            self._beside.join(settings.ANCHOR_TIMEOUT_SECONDS)

    def _work(self) -> None:
        try:
            if keys.has_private_key():
                anchors.anchor_due()
            if self._is_time_for_clocks():
                clock.check_clocks()
                self._clock_from = self._now() + CLOCK_CHECK_SECONDS
        except Exception:
            # The outermost line of this thread.
            logger.exception("anchoring or comparing clocks failed; it is tried again")
        finally:
            connections.close_all()
