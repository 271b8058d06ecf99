"""A finding: what a rule saw in one document, under a code of the registry."""

from collections.abc import Mapping
from dataclasses import dataclass, field

Facts = Mapping[str, str | int]


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """`facts` fill the placeholders of its sentences: str or int, dates as 2026-03-12."""

    code: str
    page: int = 0  # from 1; 0 when it concerns the whole document
    facts: Facts = field(default_factory=dict)
    is_remark: bool = False  # the study has such a document filed, whatever the code would do
