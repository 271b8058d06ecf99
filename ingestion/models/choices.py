"""Converts states to choices of Django: the value is stored, and the label is shown."""

from ingestion.core.states import BatchState, ChunkState, DocumentState


def state_choices(
    states: type[DocumentState] | type[BatchState] | type[ChunkState],
) -> list[tuple[str, str]]:
    return [
        (state.value, getattr(state, "word", state.name.replace("_", " ").capitalize()))
        for state in states
    ]
