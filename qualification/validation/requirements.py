"""The regulatory requirements, read once from `requirements.toml`."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Responsible(StrEnum):
    """Who is responsible for meeting a requirement."""

    PRODUCT = "product"
    USER = "user"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class ValidationRequirement:
    id: str
    asks: str
    sources: tuple[str, ...]  # where regulations ask it
    by: Responsible
    note: str = ""  # the user's part
    open: str = ""  # why no test proves it yet

    @property
    def wants_a_test(self) -> bool:
        return self.by is not Responsible.USER


def _read() -> dict[str, ValidationRequirement]:
    text = Path(__file__).with_name("requirements.toml").read_text(encoding="utf-8")
    return {name: _requirement(name, **row) for name, row in tomllib.loads(text).items()}


def _requirement(name: str, *, asks: str, by: str, **more: object) -> ValidationRequirement:
    sources = more.pop("from")
    assert isinstance(sources, list)  # noqa: S101 - the file is ours, and a test reads it
    told = {key: str(value) for key, value in more.items()}
    return ValidationRequirement(name, asks, tuple(sources), Responsible(by), **told)


REQUIREMENTS: Mapping[str, ValidationRequirement] = _read()
