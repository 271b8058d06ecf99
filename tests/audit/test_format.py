"""docs/audit-format.md is a promise to inspectors: its shell commands run here as they stand."""

import re
import subprocess
from pathlib import Path

import pytest

from audit import chain, history
from audit.models import Entry, EntryDetail
from tests.audit.support import write, write_many
from tests.audit.test_notes import NOTE
from tests.audit.test_places import place

DOCUMENT = Path(__file__).parents[2] / "docs" / "audit-format.md"
OPEN_DETAIL, FOLLOW, VERIFY_TOKEN = re.findall(r"```sh\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)


def run(script, folder, **variables):
    done = subprocess.run(
        ["sh", "-c", script], cwd=folder, env=variables | {"PATH": "/usr/bin:/bin"}, check=False,
        capture_output=True, text=True,
    )  # fmt: skip
    return done.stdout.strip()


@pytest.fixture
def entries(db, tmp_path):
    """The file that an inspector gets."""
    write_many(5, site="DE-014", doc_id='CV "Møller"')
    lines = Entry.objects.order_by("seq").values_list("body", flat=True)
    file = tmp_path / "entries.ndjson"
    file.write_text("".join(f"{line}\n" for line in lines))
    return file


def test_the_shell_follows_the_chain_to_its_head(entries):
    seq, head = history.head()
    assert run(FOLLOW, entries.parent) == f"{seq} entries, head {head}"


def test_the_shell_finds_an_edited_line(entries):
    lines = entries.read_text().splitlines(keepends=True)
    lines[2] = lines[2].replace("DE-014", "DE-015")
    entries.write_text("".join(lines))
    assert run(FOLLOW, entries.parent) == "entry 4 does not follow"


def test_the_shell_opens_a_commitment(db, tmp_path):
    write(detail={"name": "Zoë Berg"})
    kept = EntryDetail.objects.get()
    (tmp_path / "detail.json").write_text(kept.detail)
    printed = run(OPEN_DETAIL, tmp_path, SALT_IN_HEX=kept.salt)
    assert printed.split()[0] in Entry.objects.get().body


def test_the_document_describes_every_field(db):
    table = DOCUMENT.read_text().split("## Details")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert set(re.findall(r"`(\w+)`", " ".join(rows))) == chain.FIELDS


def test_the_command_for_tokens_accepts_the_one_that_we_keep_and_no_other_note(stamped, tmp_path):
    (tmp_path / "proof.txt").write_text(place("rfc3161").put("", 41, NOTE).proof)
    (tmp_path / "tsa-root.pem").write_bytes(stamped.root.read_bytes())
    (tmp_path / "41.checkpoint").write_text(NOTE)
    assert "OK" in run(VERIFY_TOKEN, tmp_path)
    (tmp_path / "41.checkpoint").write_text(NOTE.replace("41", "42"))
    assert "OK" not in run(VERIFY_TOKEN, tmp_path)
