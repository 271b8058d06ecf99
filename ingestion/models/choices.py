"""States as Django's choices: the value is stored, the word is shown."""

from ingestion.core.states import BatchState, ChunkState, DocumentState


def of_states(
    states: type[DocumentState] | type[BatchState] | type[ChunkState],
) -> list[tuple[str, str]]:
    return [
        (state.value, getattr(state, "word", state.name.replace("_", " ").capitalize()))
        for state in states
    ]
