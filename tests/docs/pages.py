"""The pages of the documentation: their fenced blocks, and what each says about running it.

A block of commands runs in `test_commands`, unless a comment before it says why it does not:

    <!-- not run: needs a PostgreSQL server -->
    <!-- run by tests/audit/ledger/test_format.py -->
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
COMMANDS = ("sh", "console")
SHOWN = ("", "ini", "json", "toml", "yaml")  # files and answers: nothing to type
_LOOSE = re.compile(r"(\.\.\.|[0-9a-f]{8}-[0-9a-f-]+|[0-9a-f]{12,}|\d+)")  # what may be another
_FENCE = re.compile(
    r"(?:^<!-- (?P<mark>(?:(?!-->).)*) -->\n+)?"
    r"^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^ *```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Block:
    page: Path
    line: int
    language: str
    text: str
    mark: str

    def __str__(self) -> str:
        return f"{name(self.page)}:{self.line}"

    @property
    def is_run_here(self) -> bool:
        return self.language in COMMANDS and not self.mark

    @property
    def not_run(self) -> str:
        """Why; or ""."""
        return self.mark.removeprefix("not run: ") if self.mark.startswith("not run: ") else ""

    @property
    def run_by(self) -> str:
        """The file of the tests that run it; or ""."""
        return self.mark.removeprefix("run by ") if self.mark.startswith("run by ") else ""


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            page,
            text.count("\n", 0, found.start("language")) + 1,
            found["language"],
            found["text"],
            found["mark"] or "",
        )
        for found in _FENCE.finditer(text)
    ]


def every_block() -> list[Block]:
    return [block for page in PAGES for block in blocks(page)]


def without_blocks(page: Path) -> str:
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def typed(block: Block) -> str:
    """What is typed: all of it, or what stands behind the prompts of a session."""
    if block.language != "console":
        return block.text
    return "".join(f"{command}\n" for command, _ in session(block))


def session(block: Block) -> list[tuple[str, list[str]]]:
    """Commands of a `console` block, each with the lines that it is shown to answer."""
    steps: list[tuple[str, list[str]]] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], []))
        elif steps and not steps[-1][1] and steps[-1][0].endswith("\\"):
            command, answer = steps[-1]
            steps[-1] = (f"{command}\n{line}", answer)
        elif line:
            steps[-1][1].append(line)
    return steps


def missing(shown: list[str], answered: list[str]) -> str:
    """The first line that is shown and was not answered, in this order; or ""."""
    lines = iter(answered)
    for line in shown:
        if not any(re.fullmatch(_pattern(line), answer.rstrip()) for answer in lines):
            return line
    return ""


def _pattern(line: str) -> str:
    if line.startswith("HTTP/"):  # a status has to be as it is
        return re.escape(line)
    parts = _LOOSE.split(line)  # every second one is loose
    parts[::2] = map(re.escape, parts[::2])
    parts[1::2] = [".*" if part == "..." else "[0-9a-f-]+" for part in parts[1::2]]
    return "".join(parts)
