"""Documents that have none of the supported types, as they come with documents that have one.

They show that "none of these types" is recognised too. Each kind is a text with alternatives; a
seed chooses among them.
"""

OTHER_DOCUMENTS: tuple[str, ...] = ()


def make_other_document(kind: str, seed: int) -> bytes:
    raise NotImplementedError
