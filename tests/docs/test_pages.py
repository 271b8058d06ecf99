"""What the documentation says is there: links, commands, options, labels, alarms, metrics."""

import re
import shlex
import subprocess
from collections import Counter

import pytest
from django.core.management import get_commands, load_command_class
from django.urls import reverse

from api.api import build
from ingestion.operations import alarms
from ingestion.rules.codes import CODES, Disposition
from tests.docs.pages import (
    COMMANDS,
    PAGES,
    ROOT,
    SHOWN,
    blocks,
    every_block,
    missing,
    name,
    typed,
    without_blocks,
)

DOCS = ROOT / "docs"
LINK = re.compile(r'\]\(([^)\s]+)\)|src="([^"]+)"')
SPAN = re.compile(r"`([^`\n]+)`")
ONE_OF_TWO = re.compile(r"\{% if [^%]*%\}[^{]*\{% else %\}([^{]*)\{% endif %\}")
COMMAND = re.compile(r"manage\.py ([a-z_]+)([^#|&;>\n]*)")


def anchors(page):
    """As GitHub makes them of headings."""
    heads = re.findall(r"^#+ (.*)$", without_blocks(page), re.MULTILINE)
    made = (re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads)
    seen = Counter()
    for anchor in made:
        yield f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor
        seen[anchor] += 1


def spoken(page):
    """Everything on a page that is code: lines of blocks of commands, and spans."""
    lines = (line for block in blocks(page) for line in typed(block).splitlines())
    return [*lines, *SPAN.findall(without_blocks(page))]


def test_an_answer_may_differ_in_numbers_and_in_nothing_else():
    shown = ["HTTP/1.1 202 Accepted", '{"id": "BAT-2026-0001", "status": "QUEUED", ...']
    answer = [
        "HTTP/1.1 202 Accepted",
        "Date: today",
        '{"id": "BAT-2027-0012", "status": "QUEUED", 1}',
    ]
    assert missing(shown, answer) == ""
    assert missing(shown, answer[::-1]) == shown[1]
    assert missing(shown, ["HTTP/1.1 200 Accepted", answer[2]]) == shown[0]
    assert missing(shown, [*answer[:2], answer[2].replace("QUEUED", "FAILED")]) == shown[1]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_and_picture_leads_somewhere(page):
    for found in LINK.findall(without_blocks(page)):
        target = "".join(found)
        if target.startswith("http"):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{name(page)} links to {target}"
        if anchor:
            assert anchor in set(anchors(there)), f"{name(page)} links to {target}"


def test_every_picture_is_shown_somewhere():
    shown = "".join(page.read_text() for page in PAGES)
    for picture in (DOCS / "screenshots").iterdir():
        assert picture.name in shown, f"{picture.name} is on no page"


@pytest.mark.parametrize("block", every_block(), ids=str)
def test_every_block_runs_or_says_why_it_does_not(block):
    assert block.language in (*COMMANDS, *SHOWN), f"is {block.language} to be run?"
    if block.language not in COMMANDS or block.is_run_here:
        return
    assert bool(block.not_run) != bool(block.run_by), f"{block}: what does '{block.mark}' say?"
    if block.run_by:
        assert block.page.name in (ROOT / block.run_by).read_text()


@pytest.mark.parametrize("block", [b for b in every_block() if b.language in COMMANDS], ids=str)
def test_every_block_of_commands_is_shell(block):
    done = subprocess.run(
        ["bash", "-n"], input=typed(block), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_command_and_option_that_is_named_exists(page):
    known = get_commands()
    for code in spoken(page):
        for command, rest in COMMAND.findall(code):
            assert command in known, f"{name(page)}: {code}"
            app = known[command]
            made = load_command_class(app, command) if isinstance(app, str) else app
            options = made.create_parser("manage.py", command)._option_string_actions
            for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", rest):
                assert option in options, f"{name(page)}: {code}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_target_of_make_that_is_named_exists(page):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {found for code in spoken(page) for found in re.findall(r"^make ([a-z-]+)", code)}
    assert named <= targets


def product():
    """What the pages may say: templates and the modules that have words for them."""
    folders = ("web", "api", "ingestion", "sites", "audit")
    sources = [path for name in folders for path in (ROOT / name).rglob("*.py")]
    files = [*(ROOT / "templates").rglob("*.html"), *sources]
    said = "".join(path.read_text() for path in files)
    return said + ONE_OF_TWO.sub(r"\1", said)


@pytest.mark.parametrize("page", sorted((DOCS / "guides").iterdir()), ids=name)
def test_what_a_guide_has_in_bold_stands_on_a_page(page):
    words, there = re.findall(r"\*\*(.+?)\*\*", without_blocks(page)), product()
    for word in words:
        is_a_sentence = word.endswith(".") or word.startswith(("Note ", "bold"))
        assert is_a_sentence or word in there, f"nothing on the pages says {word}"


def test_every_alarm_has_a_runbook_with_its_four_parts():
    text = (DOCS / "runbooks.md").read_text()
    parts = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    assert set(parts) == set(alarms._SOURCES)
    for said in parts.values():
        for part in ("**Meaning.**", "**Check.**", "**Action.**", "**Resolved**"):
            assert part in said


def test_every_reason_to_hold_a_document_is_in_the_runbook():
    said = (DOCS / "runbooks.md").read_text()
    holding = {c for c, entry in CODES.items() if entry.disposition is Disposition.HOLD}
    assert holding == set(re.findall(r"^\| `([A-Z_]+)` \|", said, re.MULTILINE))


@pytest.mark.django_db
def test_every_metric_is_explained(client):
    page = (DOCS / "metrics.md").read_text()
    told = set(re.findall(r"^\| `(siteledger_\w+)` \|", page, re.MULTILINE))
    answer = client.get(reverse("metrics")).content.decode()
    given = set(re.findall(r"^# TYPE (siteledger_\w+) ", answer, re.MULTILINE))
    assert told == given


def test_every_call_of_the_interface_is_shown_with_curl():
    asked = set()
    session = "".join(typed(block) for block in blocks(DOCS / "api.md"))
    for command in re.split(r"\n(?! )", session):
        words = shlex.split(command, comments=True) if "curl" in command else []
        verb = words[words.index("-X") + 1] if "-X" in words else ""
        sends = {"-d", "-F"} & set(words)
        asked |= {(verb or ("POST" if sends else "GET"), w) for w in words if w.startswith("$B/")}
    for path, verbs in build().get_openapi_schema()["paths"].items():
        shape = re.sub(r"\{\w+\}", "[^/?:]+", path.replace("/api/v1", r"\$B")) + r"(\?.*)?"
        for verb in verbs:
            assert any(v == verb.upper() and re.fullmatch(shape, a) for v, a in asked), path
