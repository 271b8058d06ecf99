"""Defines the base of rows whose events are recorded: the row numbers its ledger entries.

An entry is identified by its subject and its number (`audit.ledger.chain.compute_event_id`), so
the number of an entry must be taken exactly once. A recorded row has the number of its last entry
in `revision`. To take the next number is an UPDATE of the row, which locks it until the transaction
ends: concurrent transactions wait for each other, and a task that is delivered twice raises
IntegrityError or finds that the row has moved on.

Subjects without a row, and events that do not lock the row, use `audit.ledger.log.record`, and the
ledger numbers the entry (docs/adr/0037-recorded-rows.md).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Self

from django.db import models
from django.db.models import F

from audit.ledger import log
from audit.ledger.actors import Actor


class RecordedRow(models.Model):
    """A row whose events are ledger entries. Its first entry has number 0 or 1.

    Number 0 is the entry of the row's creation; the first entry of a row whose creation is not
    recorded has number 1.
    """

    revision = models.PositiveIntegerField(default=0, editable=False)  # number of the last entry

    class Meta:
        abstract = True

    @property
    def subject(self) -> str:
        """Return how the ledger names this row, for example "site:3"."""
        return f"{self._meta.model_name}:{self.pk}"

    @classmethod
    def lock(cls, key: Any) -> Self:
        """Return the row with this primary key, locked until the transaction ends."""
        rows = cls._meta.base_manager.select_for_update(of=("self",), no_key=True)
        row: Self = rows.get(pk=key)
        return row

    def entry_facts(self) -> Mapping[str, Any]:
        """Return the fields that every entry of this row has, as arguments of `log.record`."""
        return {}

    def log_facts(self) -> Mapping[str, Any]:
        """Return what lines of the log say about this row, beside the fields of its entries."""
        return {}

    def record(self, event: str, *, by: Actor, **facts: Any) -> None:
        """Take the row's next number and record an event with it. Call this inside `ledger()`.

        `facts` are further arguments of `log.record`, and replace those of `entry_facts`. Other
        columns that the event changes are saved by the caller in the same transaction.
        """
        rows = self._meta.base_manager.filter(pk=self.pk)
        rows.update(revision=F("revision") + 1)
        self.refresh_from_db(fields=["revision"])
        self.record_at_revision(event, by=by, **facts)

    def record_at_revision(
        self,
        event: str,
        *,
        by: Actor,
        logged: Mapping[str, Any] = MappingProxyType({}),
        **facts: Any,
    ) -> None:
        """Record an event with the number that the row has now. Call this inside `ledger()`.

        `logged` are keys of the line in the log beside those of `log_facts`.

        Call it for a row that was just created, and after an UPDATE that took the next number
        together with other columns (`change_if_current`).
        """
        log.record(
            event,
            subject=self.subject,
            n=self.revision,
            by=by,
            **{**self.entry_facts(), **facts, "logged": {**self.log_facts(), **logged}},
        )

    def change_if_current(self, columns: Mapping[str, Any]) -> bool:
        """Change columns and take the next number in one UPDATE, if the row is as it was read.

        Returns False, and changes nothing, if another process has taken a number meanwhile: every
        recorded change takes one. Then `record_at_revision` records the change.
        """
        rows = self._meta.base_manager.filter(pk=self.pk, revision=self.revision)
        if rows.update(**columns, revision=self.revision + 1) != 1:
            return False
        for name, value in {**columns, "revision": self.revision + 1}.items():
            setattr(self, name, value)
        return True
