"""Signs checkpoints when they are due, and brings them to anchors, on each worker host.

A host that has the key does both. Every host compares clocks once a day. Signing takes milliseconds
and runs in the calling thread. Anchors are servers of other organisations that may be slow, so that
anchoring and the comparison of clocks run in one other thread that no work waits for.
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

POLL_SECONDS = 10.0  # between checks for anchoring that other hosts left, or that is due again
RETRY_SECONDS = 60.0  # after signing has failed
CLOCK_CHECK_SECONDS = 86_400.0
THREAD_NAME = "anchors and clocks"


class CheckpointScheduler:
    """Signs and anchors for one worker host."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._next_signing_at = self._next_poll_at = self._next_clock_check_at = now()
        self._thread: threading.Thread | None = None

    def run_if_due(self) -> None:
        """Sign, and start the other thread, if that is due. Call it often.

        Makes one query if no entry is new. Raises DatabaseError.
        """
        is_signed = self._now() >= self._next_signing_at and self._sign(checkpoints.sign_if_due)
        if is_signed or self._now() >= self._next_poll_at:
            self._next_poll_at = self._now() + POLL_SECONDS
            is_clock_check_due = self._now() >= self._next_clock_check_at
            if is_clock_check_due or (keys.has_private_key() and anchors.is_anchoring_due()):
                self._start_thread()

    def close(self) -> None:
        """Sign all entries and wait for the anchors, for ANCHOR_TIMEOUT_SECONDS at most.

        The next host does what fails here.
        """
        try:
            self._sign(checkpoints.sign_all)
        except DatabaseError:
            logger.exception("the last entries are not signed; the next host does it")
            return
        self._wait_for_thread()
        self._start_thread()
        self._wait_for_thread()

    def _sign(self, sign: Callable[[], SignedCheckpoint | None]) -> bool:
        """Return whether a checkpoint was signed. Logs why it could not be."""
        if not keys.has_private_key():
            return False  # The system check and `manage.py status` report it.
        try:
            return sign() is not None
        except BrokenChain as error:
            logger.error("nothing is signed: the audit trail is broken at %s", error)  # noqa: TRY400 - the message is complete
        except KeyProblem as error:
            logger.error("nothing is signed: %s", error)  # noqa: TRY400 - the same
        self._next_signing_at = self._now() + RETRY_SECONDS
        return False

    def _start_thread(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            # A daemon thread does not keep the host from ending if a server never answers.
            self._thread = threading.Thread(
                target=self._anchor_and_check_clocks, name=THREAD_NAME, daemon=True
            )
            self._thread.start()

    def _wait_for_thread(self) -> None:
        if self._thread:
            self._thread.join(settings.ANCHOR_TIMEOUT_SECONDS)

    def _anchor_and_check_clocks(self) -> None:
        try:
            if keys.has_private_key():
                anchors.anchor_due()
            if self._now() >= self._next_clock_check_at:
                clock.check_clocks()
                self._next_clock_check_at = self._now() + CLOCK_CHECK_SECONDS
        except Exception:  # The thread ends here. The next one tries again.
            logger.exception("anchoring or comparing clocks failed; it is tried again")
        finally:
            connections.close_all()
