"""Converts states to choices of Django model fields."""

from ingestion.core.states import BatchState, ChunkState, DocumentState


def list_state_choices(
    states: type[DocumentState] | type[BatchState] | type[ChunkState],
) -> list[tuple[str, str]]:
    """Return the value, which is stored, and the label, which is displayed, of each state."""
    return [
        (state.value, getattr(state, "word", state.name.replace("_", " ").capitalize()))
        for state in states
    ]
