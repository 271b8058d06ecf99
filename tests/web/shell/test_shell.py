"""Properties of every page: content security policy, navigation, help."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import Group
from django.test import Client

from ingestion.core.states import BatchState, ChunkState, DocumentState
from ingestion.rules.codes import CODES
from ingestion.rules.messages import CATEGORY_LABELS, OWNER_LABELS
from tests.factories import make_user
from web.shell.state_display import STATE_DISPLAYS, WORK_DISPLAYS, render_icon

NEEDS = "Required documents"


def _named(path):
    return str(path.relative_to(settings.BASE_DIR))


TEMPLATES = sorted((settings.BASE_DIR / "templates").rglob("*.html"))
SHEETS = sorted((settings.BASE_DIR / "static" / "siteledger").glob("*.css"))


def labels(client):
    page = client.get("/help/rejections/").content.decode()
    return re.findall(r"<li><a[^>]*>([^<]+)</a></li>", page.split("</nav>")[0])


def test_templates_contain_no_inline_styles_or_scripts():
    assert TEMPLATES
    for template in TEMPLATES:
        text = template.read_text(encoding="utf-8")
        assert not re.search(r"\sstyle\s*=|<style|\son[a-z]+\s*=|javascript:", text), template
        assert not re.search(r"<script(?![^>]*\ssrc=)", text), template


def test_templates_load_nothing_from_another_host():
    for template in TEMPLATES:
        text = template.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"(?:src|href|action)=\"(?:https?:)?//", text), template


@pytest.mark.parametrize("sheet", SHEETS, ids=_named)
def test_style_sheets_use_only_colours_of_the_tokens(sheet: Path):
    tokens = set(re.findall(r"(--sl-[\w-]+)\s*:", "".join(each.read_text() for each in SHEETS)))
    assert set(re.findall(r"var\((--sl-[\w-]+)", sheet.read_text())) <= tokens


def test_the_content_security_policy_permits_nothing_inline(client, db):
    policy = client.get("/login/").headers["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "style-src 'self'" in policy
    assert "unsafe" not in policy
    assert "nonce" not in policy


def test_every_state_has_a_display():
    assert set(STATE_DISPLAYS) == set(DocumentState)
    assert set(WORK_DISPLAYS) == {*BatchState, *ChunkState}
    for display in (*STATE_DISPLAYS.values(), *WORK_DISPLAYS.values()):
        assert "aria-hidden" in render_icon(display.icon)


def test_an_icon_with_a_label_is_named_for_screen_readers():
    assert 'role="img" aria-label="Filed"' in render_icon("tick", "Filed")


def test_the_help_page_names_every_code_with_its_three_parts(signed_in):
    page = signed_in.get("/help/rejections/").content.decode()
    assert all(f'id="{code}"' in page for code in CODES)
    assert page.count("What to do:") == len(CODES)


def test_the_help_page_classifies_every_code_and_explains_the_classes(signed_in):
    page = signed_in.get("/help/rejections/").content.decode()
    assert page.count("Owner: ") == len(CODES)
    section = page.split('id="SCANNER_UNAVAILABLE"')[1].split("</li>")[0]
    assert "Infrastructure, Major, Retryable. Owner: Operations" in section
    for label, meaning in (*OWNER_LABELS.values(), *CATEGORY_LABELS.values()):
        assert f"<dt>{label}</dt><dd>{meaning}</dd>" in page


def test_coordinators_see_their_own_navigation(signed_in):
    assert labels(signed_in) == [
        "My packets",
        "Upload a packet",
        "Search",
        "Required documents",
        "Help",
    ]


@pytest.mark.parametrize(
    ("role", "offered"),
    [
        (
            "QA reviewers",
            ["Review", "Documents", "Packets", "Search", NEEDS, "Audit trail", "Sites", "Help"],
        ),
        (
            "Regulatory affairs",
            ["Documents", "Packets", "Search", NEEDS, "Audit trail", "Sites", "People", "Help"],
        ),
        (
            "Operations",
            [
                "Documents",
                "Packets",
                "Search",
                NEEDS,
                "Operations",
                "Batches",
                "Sites",
                "Approvals",
                "Help",
            ],
        ),
    ],
)
def test_each_role_sees_the_pages_that_it_can_open(client, db, role, offered):
    user = make_user("member", is_staff=True)
    user.groups.add(Group.objects.get(name=role))
    client.force_login(user)
    assert labels(client) == offered


@pytest.mark.parametrize(
    ("address", "label"),
    [("/", "My packets"), ("/packets/new/", "Upload a packet"), ("/help/rejections/", "Help")],
)
def test_the_navigation_marks_the_current_page(signed_in, address, label):
    page = signed_in.get(address).content.decode()
    assert re.findall(r'aria-current="page">([^<]+)', page) == [label]


def test_a_missing_page_has_the_design_of_the_product(client, db):
    answer = client.get("/nowhere/")
    assert answer.status_code == 404
    assert "Page not found" in answer.content.decode()


def test_an_expired_form_is_explained(mara):
    answer = Client(enforce_csrf_checks=True).post("/login/", {"username": "mara"})
    assert answer.status_code == 403
    assert "The form has expired" in answer.content.decode()
