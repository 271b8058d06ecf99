"""Describes the progress of a packet in words and numbers, from the counts of its states."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from ingestion.core.states import SETTLED_STATES, STATES_NEEDING_SITE, DocumentState
from web.shell.state_display import STATE_DISPLAYS, StateDisplay, get_state_label

_ALWAYS_COUNTED = (DocumentState.ARCHIVED, DocumentState.REJECTED)


@dataclass(frozen=True, slots=True)
class PacketProgress:
    """The progress of one packet.

    `needing` is the number of documents that need an action of the site (`needing_site`).
    `has_worker` tells whether a worker is running, which matters while documents wait for one.
    """

    counts: Mapping[DocumentState, int]
    needing: int
    has_worker: bool = True

    @property
    def total(self) -> int:
        """Return the number of documents. A divided file counts as the documents in it."""
        return sum(n for state, n in self.counts.items() if state is not DocumentState.DIVIDED)

    @property
    def settled(self) -> int:
        """Return the number of documents that are settled.

        A divided file counts as its documents.
        """
        settled = SETTLED_STATES - {DocumentState.DIVIDED}
        return sum(number for state, number in self.counts.items() if state in settled)

    @property
    def is_done(self) -> bool:
        """Return whether all documents are settled."""
        return self.settled == self.total

    @property
    def replaced(self) -> int:
        """Return the number of rejected or returned documents that the site has replaced."""
        returned = (*STATES_NEEDING_SITE, DocumentState.WITHDRAWN)
        return sum(self.counts.get(state, 0) for state in returned) - self.needing

    @property
    def is_stopped(self) -> bool:
        """Return whether documents wait while no worker host is running."""
        return not self.is_done and not self.has_worker

    @property
    def on_file(self) -> int:
        """Return the number of documents that are on file: filed now, or already before."""
        filed = (DocumentState.ARCHIVED, DocumentState.DEDUPED)
        return sum(self.counts.get(state, 0) for state in filed)

    @property
    def headline(self) -> str:
        """Return the heading of the packet: the most urgent fact about its documents."""
        if self.is_stopped:
            return _("Checking has stopped: no worker is running")
        if not self.is_done:
            return _("Checking your documents")
        if self.needing and self.total == 1:
            return _("1 of 1 document needs your attention")
        if self.needing:
            sentence = ngettext(
                "{n} of {total} documents needs your attention",
                "{n} of {total} documents need your attention",
                self.needing,
            )
            return sentence.format(n=self.needing, total=self.total)
        return self._settled_headline

    @property
    def _settled_headline(self) -> str:
        """Return the heading of a packet that is checked and needs no action of its site."""
        if self.counts.get(DocumentState.HELD):
            return _("Held by us. You do not need to do anything")
        if self.counts.get(DocumentState.IN_REVIEW):
            return _("Checked. QA is reviewing the remaining documents")
        if self.on_file == self.total:
            return _("All documents are on file")
        if self.replaced:
            sentence = ngettext(
                "Finished. {n} document has been replaced",
                "Finished. {n} documents have been replaced",
                self.replaced,
            )
            return sentence.format(n=self.replaced)
        return _("Finished")

    @property
    def sentence(self) -> str:
        """Return the counts in a sentence, for example "2 of 4 checked. 2 filed, 0 rejected."."""
        others = (
            state
            for state in DocumentState
            if state in SETTLED_STATES - {DocumentState.DIVIDED} and self.counts.get(state)
        )
        states = dict.fromkeys((*_ALWAYS_COUNTED, *others))
        sentence = _("{settled} of {total} checked. {counts}.")
        return sentence.format(
            settled=self.settled,
            total=self.total,
            counts=", ".join(map(self._count_in_words, states)),
        )

    def _count_in_words(self, state: DocumentState) -> str:
        count = self.counts.get(state, 0)
        return _("{n} {state}").format(n=count, state=get_state_label(state).lower())

    @property
    def verdict(self) -> tuple[StateDisplay, str]:
        """Return the icon and the words of one chip: the most urgent fact about the documents."""
        if self.needing:
            return STATE_DISPLAYS[DocumentState.REJECTED], _("{n} to correct").format(
                n=self.needing
            )
        if self.is_stopped:
            return STATE_DISPLAYS[DocumentState.HELD], _("Waiting for a worker")
        if not self.is_done:
            return STATE_DISPLAYS[DocumentState.VALIDATING], get_state_label(
                DocumentState.VALIDATING
            )
        for state in (DocumentState.HELD, DocumentState.IN_REVIEW, DocumentState.CANCELLED):
            if self.counts.get(state):
                return STATE_DISPLAYS[state], self._count_in_words(state)
        if self.replaced:
            return STATE_DISPLAYS[DocumentState.WITHDRAWN], _("{n} replaced").format(
                n=self.replaced
            )
        return STATE_DISPLAYS[DocumentState.ARCHIVED], _("All on file")
