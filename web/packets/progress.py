"""How far a packet is, in words and numbers. Made from counts alone."""

from collections.abc import Mapping
from dataclasses import dataclass

from ingestion.core.states import NEEDS_SITE, SETTLED, DocumentState
from web.shell.state_display import LOOKS, Look

_ALWAYS_SAID = (DocumentState.ARCHIVED, DocumentState.REJECTED)


@dataclass(frozen=True, slots=True)
class Progress:
    """`needing`: documents that the site has to do something about (`needing_site`).

    `has_worker`: whether a worker is running; it matters while documents wait for one.
    """

    counts: Mapping[DocumentState, int]
    needing: int
    has_worker: bool = True

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
    def replaced(self) -> int:
        """Documents that came back, and in whose place something else was sent since."""
        gone = (*NEEDS_SITE, DocumentState.WITHDRAWN)
        return sum(self.counts.get(state, 0) for state in gone) - self.needing

    @property
    def is_stopped(self) -> bool:
        return not self.is_done and not self.has_worker

    @property
    def headline(self) -> str:
        if self.is_stopped:
            return "Checking has stopped: no worker is running"
        if not self.is_done:
            return "Checking your documents"
        if self.needing:
            verb = "needs" if self.needing == 1 else "need"
            noun = "document" if self.total == 1 else "documents"
            return f"{self.needing} of {self.total} {noun} {verb} your attention"
        return self._end

    @property
    def _end(self) -> str:
        """The headline of a packet that needs nothing of its site."""
        if self.counts.get(DocumentState.HELD):
            return "Held by us: nothing for you to do"
        if self.counts.get(DocumentState.IN_REVIEW):
            return "Checked: QA looks at the rest"
        if self.on_file == self.total:
            return "Everything is on file"
        if self.replaced:
            noun = "document was" if self.replaced == 1 else "documents were"
            return f"Finished: {self.replaced} {noun} replaced since"
        return "Finished"

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
        if self.is_stopped:
            return LOOKS[DocumentState.HELD], "Waits for a worker"
        if not self.is_done:
            return LOOKS[DocumentState.VALIDATING], DocumentState.VALIDATING.word
        for state in (DocumentState.HELD, DocumentState.IN_REVIEW, DocumentState.CANCELLED):
            if count := self.counts.get(state):
                return LOOKS[state], f"{count} {state.word.lower()}"
        if self.replaced:
            return LOOKS[DocumentState.WITHDRAWN], f"{self.replaced} replaced"
        return LOOKS[DocumentState.ARCHIVED], "All on file"
