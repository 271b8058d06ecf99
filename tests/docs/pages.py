"""Reads the pages of the documentation: their fenced blocks, and the marks of these.

`test_commands` runs each block of commands, unless a comment before it gives a reason:

    <!-- not run: needs a PostgreSQL server -->
    <!-- run by tests/audit/ledger/test_format.py -->
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
COMMANDS = ("sh", "console")
OTHER_LANGUAGES = ("", "ini", "json", "toml", "yaml")  # files and responses, which are not run
_VARIABLE = re.compile(
    r"(\.\.\.|[0-9a-f]{8}-[0-9a-f-]+|[0-9a-f]{12,}|\d+)"
)  # parts that may differ
_FENCE = re.compile(
    r"(?:^ *<!-- (?P<mark>(?:(?!-->).)*) -->\n+)?"
    r"^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^ *```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Block:
    """Holds one fenced block of a page."""

    page: Path
    line: int
    language: str
    text: str
    mark: str  # the comment before the block, or ""

    def __str__(self) -> str:
        return f"{page_name(self.page)}:{self.line}"

    @property
    def is_run_here(self) -> bool:
        return self.language in COMMANDS and not self.mark

    @property
    def not_run(self) -> str:
        """Return the reason why the block is not run, or an empty text."""
        return self.mark.removeprefix("not run: ") if self.mark.startswith("not run: ") else ""

    @property
    def run_by(self) -> str:
        """Return the test file that runs the block, or an empty text."""
        return self.mark.removeprefix("run by ") if self.mark.startswith("run by ") else ""


def page_name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def find_blocks(page: Path) -> list[Block]:
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


def find_all_blocks() -> list[Block]:
    return [block for page in PAGES for block in find_blocks(page)]


def text_without_blocks(page: Path) -> str:
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def commands_of(block: Block) -> str:
    """Return the commands of a block, for a session those after the prompts."""
    if block.language != "console":
        return block.text
    return "".join(f"{command}\n" for command, _ in parse_session(block))


def parse_session(block: Block) -> list[tuple[str, list[str]]]:
    """Return the commands of a `console` block, each with the lines of its output."""
    steps: list[tuple[str, list[str]]] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], []))
        elif steps and not steps[-1][1] and steps[-1][0].endswith("\\"):
            command, output = steps[-1]
            steps[-1] = (f"{command}\n{line}", output)
        elif line:
            steps[-1][1].append(line)
    return steps


def find_missing_line(expected: list[str], output: list[str]) -> str:
    """Return the first expected line that the output lacks, in this order, or an empty text."""
    lines = iter(output)
    for line in expected:
        if not any(re.fullmatch(_pattern(line), found.rstrip()) for found in lines):
            return line
    return ""


def _pattern(line: str) -> str:
    if line.startswith("HTTP/"):  # a status has to be identical
        return re.escape(line)
    parts = _VARIABLE.split(line)  # every second part is variable
    parts[::2] = map(re.escape, parts[::2])
    parts[1::2] = [".*" if part == "..." else "[0-9a-f-]+" for part in parts[1::2]]
    return "".join(parts)
