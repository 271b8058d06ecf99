"""How far a packet is, in words and numbers. Made from counts by state alone."""

from collections.abc import Mapping
from dataclasses import dataclass

from ingestion.core.states import NEEDS_SITE, SETTLED, DocumentState
from ingestion.web.look import LOOKS, Look

_ALWAYS_SAID = (DocumentState.ARCHIVED, DocumentState.REJECTED)


@dataclass(frozen=True, slots=True)
class Progress:
    counts: Mapping[DocumentState, int]

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def settled(self) -> int:
        return sum(n for state, n in self.counts.items() if state in SETTLED)

    @property
    def is_done(self) -> bool:
        return self.settled == self.total

    @property
    def needing(self) -> int:
        """Documents that the site itself has to do something about."""
        return sum(self.counts.get(state, 0) for state in NEEDS_SITE)

    @property
    def headline(self) -> str:
        if not self.is_done:
            return "Checking your documents"
        if self.needing:
            verb = "needs" if self.needing == 1 else "need"
            noun = "document" if self.total == 1 else "documents"
            return f"{self.needing} of {self.total} {noun} {verb} you"
        if self.counts.get(DocumentState.HELD):
            return "Held by us: nothing for you to do"
        if self.counts.get(DocumentState.IN_REVIEW):
            return "Checked: QA looks at the rest"
        return "Everything is on file" if self.on_file == self.total else "Finished"

    @property
    def on_file(self) -> int:
        return sum(
            self.counts.get(state, 0) for state in (DocumentState.ARCHIVED, DocumentState.DEDUPED)
        )

    @property
    def sentence(self) -> str:
        """As in: 2 of 4 checked. 2 filed, 0 rejected."""
        others = (state for state in DocumentState if state in SETTLED and self.counts.get(state))
        shown = dict.fromkeys((*_ALWAYS_SAID, *others))
        said = [f"{self.counts.get(state, 0)} {state.word.lower()}" for state in shown]
        return f"{self.settled} of {self.total} checked. {', '.join(said)}."

    @property
    def verdict(self) -> tuple[Look, str]:
        """The result in one chip, the most pressing first."""
        if self.needing:
            return LOOKS[DocumentState.REJECTED], f"{self.needing} to correct"
        if not self.is_done:
            return LOOKS[DocumentState.VALIDATING], DocumentState.VALIDATING.word
        for state in (DocumentState.HELD, DocumentState.IN_REVIEW, DocumentState.CANCELLED):
            if count := self.counts.get(state):
                return LOOKS[state], f"{count} {state.word.lower()}"
        return LOOKS[DocumentState.ARCHIVED], "All on file"
