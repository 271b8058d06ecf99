"""TO BE REPLACED by the anchors of the branch `checkpoints`: only what verification asks of it."""

from collections.abc import Iterator
from pathlib import Path

from django.conf import settings


def read_back() -> Iterator[tuple[str, str]]:
    """Place and text of every note that the write-once places hold."""
    for path in sorted(Path(settings.ANCHOR_DIR).glob("*.checkpoint")):
        yield str(path), path.read_text()
