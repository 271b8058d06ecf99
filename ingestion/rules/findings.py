"""A finding: what a check found in one document, under a finding code of the registry."""

from collections.abc import Mapping
from dataclasses import dataclass, field

Facts = Mapping[str, str | int]


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """A finding before it is stored.

    `facts` fill the placeholders of its messages. Their values are str or int; dates are written
    as 2026-03-12.
    """

    code: str
    page: int = 0  # from 1; 0 if it concerns the whole document
    facts: Facts = field(default_factory=dict)
    is_remark: bool = False  # the study files such a document, whatever the code would do
