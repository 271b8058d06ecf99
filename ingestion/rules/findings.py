"""A finding: what a rule saw in one document, under a code of the registry."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Finding:
    """`facts` fill the placeholders of the code's sentences; values are str or int, never floats."""

    code: str
    page: int = 0  # from 1; 0 when it concerns the whole document
    facts: Mapping[str, str | int] = field(default_factory=dict)
