"""The table of requirements, read once from `requirements.toml`."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class By(StrEnum):
    """Who has to see to it."""

    PRODUCT = "product"
    USER = "user"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class Requirement:
    id: str
    asks: str
    sources: tuple[str, ...]  # where regulations ask it
    by: By
    note: str = ""  # the user's part
    open: str = ""  # why no test proves it yet

    @property
    def wants_a_test(self) -> bool:
        return self.by is not By.USER


def _read() -> dict[str, Requirement]:
    text = Path(__file__).with_name("requirements.toml").read_text(encoding="utf-8")
    return {name: _requirement(name, **row) for name, row in tomllib.loads(text).items()}


def _requirement(name: str, *, asks: str, by: str, **more: object) -> Requirement:
    sources = more.pop("from")
    assert isinstance(sources, list)  # noqa: S101 - the file is ours, and a test reads it
    told = {key: str(value) for key, value in more.items()}
    return Requirement(name, asks, tuple(sources), By(by), **told)


ALL: Mapping[str, Requirement] = _read()
