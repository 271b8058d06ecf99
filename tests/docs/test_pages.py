"""Tests that what the documentation names exists: links, commands, labels, alarms, metrics."""

import ast
import re
import shlex
import subprocess
import tomllib
from collections import Counter

import pytest
from django.core.management import get_commands, load_command_class
from django.urls import reverse

from api.api import build
from ingestion.operations import alarms
from ingestion.rules.codes import CODES, Disposition
from tests.docs.pages import (
    COMMANDS,
    OTHER_LANGUAGES,
    PAGES,
    ROOT,
    commands_of,
    find_all_blocks,
    find_blocks,
    find_missing_line,
    page_name,
    text_without_blocks,
)

DOCS = ROOT / "docs"
MAX_LINES_WITHOUT_CONTENTS = 200
LINK = re.compile(r'\]\(([^)\s]+)\)|src="([^"]+)"')
CODE_SPAN = re.compile(r"`([^`\n]+)`")
ELSE_BRANCH = re.compile(r"\{% if [^%]*%\}[^{]*\{% else %\}([^{]*)\{% endif %\}")
COMMAND = re.compile(r"manage\.py ([a-z_]+)([^#|&;>\n]*)")


def find_anchors(page):
    """Yield the anchors of a page's headings, as GitHub builds them."""
    headings = re.findall(r"^#+ (.*)$", text_without_blocks(page), re.MULTILINE)
    anchors = (re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings)
    counts = Counter()
    for anchor in anchors:
        yield f"{anchor}-{counts[anchor]}" if counts[anchor] else anchor
        counts[anchor] += 1


def find_code(page):
    """Return all code of a page: the lines of blocks of commands, and code spans."""
    lines = (line for block in find_blocks(page) for line in commands_of(block).splitlines())
    return [*lines, *CODE_SPAN.findall(text_without_blocks(page))]


def test_output_may_differ_from_a_page_only_in_numbers_and_hashes():
    expected = ["HTTP/1.1 202 Accepted", '{"id": "BAT-2026-0001", "status": "QUEUED", ...']
    output = [
        "HTTP/1.1 202 Accepted",
        "Date: today",
        '{"id": "BAT-2027-0012", "status": "QUEUED", 1}',
    ]
    other_status = ["HTTP/1.1 200 Accepted", output[2]]
    other_value = [*output[:2], output[2].replace("QUEUED", "FAILED")]
    assert find_missing_line(expected, output) == ""
    assert find_missing_line(expected, output[::-1]) == expected[1]
    assert find_missing_line(expected, other_status) == expected[0]
    assert find_missing_line(expected, other_value) == expected[1]


def test_the_target_of_every_link_and_picture_exists():
    for page in PAGES:
        for found in LINK.findall(text_without_blocks(page)):
            target = "".join(found)
            if target.startswith("http"):
                continue
            path, _, anchor = target.partition("#")
            linked = (page.parent / path).resolve() if path else page
            assert linked.exists(), f"{page_name(page)} links to {target}"
            if anchor:
                assert anchor in set(find_anchors(linked)), f"{page_name(page)} links to {target}"


def test_a_page_of_more_than_200_lines_has_a_table_of_contents():
    for page in PAGES:
        lines = page.read_text().splitlines()
        if len(lines) > MAX_LINES_WITHOUT_CONTENTS:
            own = re.findall(r"^\s*- \[.*\]\(#([^)]+)\)", "\n".join(lines[:60]), re.MULTILINE)
            assert len(own) >= 2, page


def test_a_page_begins_with_a_heading_and_a_paragraph():
    for page in PAGES:
        heading, empty, first = page.read_text().splitlines()[:3]
        assert heading.startswith("# "), page
        assert empty == "", page
        assert first, page
        assert not first.startswith(("|", "```", "- ")), page


def test_every_picture_is_used_on_a_page():
    text = "".join(page.read_text() for page in PAGES)
    for picture in (DOCS / "screenshots").iterdir():
        assert picture.name in text, f"{picture.name} is on no page"


def test_every_block_of_commands_is_run_or_states_a_reason():
    known = (*COMMANDS, *OTHER_LANGUAGES)
    for block in find_all_blocks():
        assert block.language in known, f"is {block.language} a language of commands?"
        if block.language not in COMMANDS or block.is_run_here:
            continue
        assert bool(block.not_run) != bool(block.run_by), (
            f"{block}: '{block.mark}' is not a known mark"
        )
        if block.run_by:
            assert block.page.name in (ROOT / block.run_by).read_text(), block


@pytest.mark.parametrize("block", [b for b in find_all_blocks() if b.language in COMMANDS], ids=str)
def test_every_block_of_commands_is_valid_shell(block):
    done = subprocess.run(
        ["bash", "-n"], input=commands_of(block), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_every_command_and_option_on_a_page_exists():
    known = get_commands()
    for page in PAGES:
        for code in find_code(page):
            for command, rest in COMMAND.findall(code):
                assert command in known, f"{page_name(page)}: {code}"
                app = known[command]
                loaded = load_command_class(app, command) if isinstance(app, str) else app
                options = loaded.create_parser("manage.py", command)._option_string_actions
                for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", rest):
                    assert option in options, f"{page_name(page)}: {code}"


def test_every_make_target_on_a_page_exists():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        named = {
            found for code in find_code(page) for found in re.findall(r"^make ([a-z-]+)", code)
        }
        assert named <= targets, page


def read_product_texts():
    """Return the text of all templates and modules, which contain the labels of the pages."""
    folders = ("web", "api", "ingestion", "sites", "audit")
    sources = [path for name in folders for path in (ROOT / name).rglob("*.py")]
    files = [*(ROOT / "templates").rglob("*.html"), *sources]
    text = "".join(path.read_text() for path in files)
    return text + ELSE_BRANCH.sub(r"\1", text)


@pytest.mark.parametrize("page", sorted((DOCS / "guides").iterdir()), ids=page_name)
def test_every_bold_label_of_a_guide_is_on_a_page_of_the_product(page):
    labels = re.findall(r"\*\*(.+?)\*\*", text_without_blocks(page))
    texts = read_product_texts()
    for label in labels:
        is_sentence = label.endswith(".") or label.startswith(("Note ", "bold"))
        assert is_sentence or label in texts, f"no page of the product contains {label}"


def test_every_alarm_has_a_runbook_with_four_parts():
    text = (DOCS / "runbooks.md").read_text()
    parts = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    assert set(parts) == set(alarms._SOURCES)
    for section in parts.values():
        for part in ("**Meaning.**", "**Check.**", "**Action.**", "**Resolved**"):
            assert part in section


def test_the_table_of_alarms_lists_exactly_the_alarms_of_the_product():
    text = (DOCS / "operations.md").read_text()
    section = re.search(r"^## Alarms\n(.*?)(?=^## )", text, re.MULTILINE | re.DOTALL)[1]
    listed = re.findall(r"^\| `([a-z_]+)(?::[A-Z]+)?` \|", section, re.MULTILINE)
    assert sorted(listed) == sorted(alarms._SOURCES)


def test_the_architecture_lists_the_layers_of_ingestion_in_their_order():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = next(
        each["layers"] for each in contracts["contracts"] if each.get("containers") == ["ingestion"]
    )
    packages = [
        [name for name in layer.split(" : ") if (ROOT / "ingestion" / name).is_dir()]
        for layer in layers
    ]
    text = (DOCS / "architecture.md").read_text()
    section = re.search(r"^## Layers\n(.*?)(?=^## )", text, re.MULTILINE | re.DOTALL)[1]
    items = re.findall(r"^\d+\. (.*)$", section, re.MULTILINE)
    assert [CODE_SPAN.findall(item) for item in items] == [each for each in packages if each]


def test_every_code_that_holds_a_document_is_in_the_runbook():
    text = (DOCS / "runbooks.md").read_text()
    holding = {c for c, entry in CODES.items() if entry.disposition is Disposition.HOLD}
    assert holding == set(re.findall(r"^\| `([A-Z_]+)` \|", text, re.MULTILINE))


@pytest.mark.django_db
def test_every_metric_is_explained(client):
    page = (DOCS / "metrics.md").read_text()
    explained = set(re.findall(r"^\| `(siteledger_\w+)` \|", page, re.MULTILINE))
    response = client.get(reverse("metrics")).content.decode()
    exposed = set(re.findall(r"^# TYPE (siteledger_\w+) ", response, re.MULTILINE))
    assert explained == exposed


def test_every_call_of_the_http_interface_is_shown_with_curl():
    calls = set()
    session = "".join(commands_of(block) for block in find_blocks(DOCS / "api.md"))
    for command in re.split(r"\n(?! )", session):
        words = shlex.split(command, comments=True) if "curl" in command else []
        verb = words[words.index("-X") + 1] if "-X" in words else ""
        sends = {"-d", "-F"} & set(words)
        calls |= {(verb or ("POST" if sends else "GET"), w) for w in words if w.startswith("$B/")}
    for path, verbs in build().get_openapi_schema()["paths"].items():
        shape = re.sub(r"\{\w+\}", "[^/?:]+", path.replace("/api/v1", r"\$B")) + r"(\?.*)?"
        for verb in verbs:
            assert any(v == verb.upper() and re.fullmatch(shape, url) for v, url in calls), path


def test_the_name_of_every_test_is_a_sentence():
    """As CONTRIBUTING.md asks: a name of one or two words states no behaviour."""
    names = {
        node.name
        for path in (ROOT / "tests").rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test")
    }
    assert [name for name in names if not re.fullmatch(r"test(_[a-z0-9]+){3,}", name)] == []


def test_every_package_that_is_required_to_run_has_a_reason_and_no_other_is_listed():
    text = (DOCS / "dependencies.md").read_text()
    running = text.partition("\n## Running\n")[2].partition("\n###")[0]
    rows = [line.split("|") for line in running.splitlines() if line.startswith("| ")][1:]
    documented = {
        name.lower()
        for _, packages, *_ in rows
        for name in re.sub(r"\(.*\)| \d\.\d", "", packages).replace(",", " ").split()
    }
    assert all(reason.strip() for _, _, _, reason, *_ in rows)
    required = set()
    for file in ROOT.glob("requirements*.in"):
        if file.name != "requirements-dev.in":
            required.update(re.findall(r"^\w[\w-]*", file.read_text().lower(), re.MULTILINE))
    assert documented | {"onnxruntime"} == required  # which belongs to rapidocr


def test_the_required_libraries_are_used_where_the_page_about_dependencies_says():
    text = (DOCS / "dependencies.md").read_text()
    rows = re.findall(r"^\| `(\w+)`[^|]*\| (`[^|]+`) \|", text, re.MULTILINE)
    documented = {name: set(CODE_SPAN.findall(packages)) for name, packages in rows}
    assert set(documented) == {"cv2", "httpx2", "pypdf", "pytesseract"}
    found = {name: set() for name in documented}
    importing = re.compile(rf"^\s*(?:import|from) ({'|'.join(documented)})\b", re.MULTILINE)
    for product in ("api", "audit", "config", "ingestion", "sites", "web"):
        for path in (ROOT / product).rglob("*.py"):
            for name in importing.findall(path.read_text()):
                found[name].add(str(path.parent.relative_to(ROOT)))
    assert found == documented
