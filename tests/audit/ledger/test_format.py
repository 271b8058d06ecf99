"""Tests that the shell commands of docs/audit-format.md work as inspectors find them there."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from audit.ledger import chain, queries
from audit.models import Entry, EntryDetail
from tests.audit.export.support import KEY, OTHER, make_export, publish, sign, write_documents
from tests.audit.signing.test_places import place
from tests.audit.signing.test_signed_note import NOTE
from tests.audit.support import write, write_many

DOCS = Path(__file__).parents[3] / "docs"
DOCUMENT = DOCS / "audit-format.md"


def commands(heading, document=DOCUMENT):
    """Return the shell commands under a heading, up to the next heading."""
    section = re.split(
        r"^#+ ", document.read_text().split(f"# {heading}\n")[1], flags=re.MULTILINE
    )[0]
    return re.findall(r"```sh\n(.*?)```", section, re.DOTALL)


(OPEN_DETAIL,) = commands("Details")
(FOLLOW,) = commands("Following the chain with coreutils")
(VERIFY_TOKEN,) = commands("Checkpoints and anchors")
(CHECK,) = commands(
    "Verify an export without SiteLedger", DOCS / "guides" / "regulatory-affairs.md"
)
FILES, DETAIL, ROOT, SIGNATURE, MANIFEST, PROOFS = commands("Recomputing it without our verifier")


def run(script, folder, **variables):
    done = subprocess.run(
        ["sh", "-c", script], cwd=folder, env=variables | {"PATH": "/usr/bin:/bin"}, check=False,
        capture_output=True, text=True,
    )  # fmt: skip
    return done.stdout.strip()


@pytest.fixture
def entries(db, tmp_path):
    """Write the file of entries that an inspector gets, and return its path."""
    write_many(5, site="DE-014", doc_id='CV "Møller"')
    lines = Entry.objects.order_by("seq").values_list("body", flat=True)
    file = tmp_path / "entries.ndjson"
    file.write_text("".join(f"{line}\n" for line in lines))
    return file


def test_the_shell_follows_the_chain_to_its_head(entries):
    seq, head = queries.get_last_entry()
    assert run(FOLLOW, entries.parent) == f"{seq} entries, head {head}"


def test_the_shell_finds_an_edited_line(entries):
    lines = entries.read_text().splitlines(keepends=True)
    lines[2] = lines[2].replace("DE-014", "DE-015")
    entries.write_text("".join(lines))
    assert run(FOLLOW, entries.parent) == "entry 4 does not follow"


def test_the_shell_opens_a_commitment(db, tmp_path):
    write(detail={"name": "Zoë Berg"})
    stored = EntryDetail.objects.get()
    (tmp_path / "detail.json").write_text(stored.detail)
    printed = run(OPEN_DETAIL, tmp_path, SALT_IN_HEX=stored.salt)
    assert printed.split()[0] in Entry.objects.get().body


@pytest.fixture
def package(db, settings, tmp_path):
    publish(settings, tmp_path / "anchors")
    write_documents(1, 2)
    sign()
    return make_export(tmp_path / "export")


@pytest.mark.requirement("R11")
def test_the_shell_recomputes_the_package(package):
    manifest = json.loads((package / "manifest.json").read_text())
    assert run(FILES, package) == "all files are those of the manifest"
    assert run(FOLLOW, package) == f"6 entries, head {manifest['head']}"
    for seq in range(1, 7):
        printed = f"the detail of entry {seq} is what was entered"
        assert run(DETAIL, package, SEQ=str(seq)) == printed


def test_the_shell_finds_changes_in_the_package(package):
    for name in ("details.ndjson", "timeline.csv"):
        file = package / name
        file.write_text(file.read_text().replace("no. 0", "no. 7"))
    assert "the manifest" not in run(FILES, package)
    assert run(DETAIL, package, SEQ="1") == ""


@pytest.mark.parametrize("documents", [[1], [1, 2, 3, 4, 5]])
def test_the_shell_computes_the_root_that_was_signed(db, settings, tmp_path, documents):
    """The tests use 3 and 15 entries, which make two and four perfect trees."""
    publish(settings, tmp_path / "anchors")
    write_documents(*documents)
    sign()
    package = make_export(tmp_path / "export")
    manifest = json.loads((package / "manifest.json").read_text())
    printed = f"checkpoint {manifest['size']} has the root {manifest['root']}"
    assert run(ROOT, package) == printed


def test_the_shell_does_not_compute_the_signed_root_of_changed_entries(package):
    file = package / "entries.ndjson"
    file.write_text(file.read_text().replace("DE-014", "DE-015"))
    assert run(ROOT, package) == ""


def test_openssl_verifies_the_signature_of_the_checkpoint(package):
    assert "Verified Successfully" in run(SIGNATURE, package, KEY=KEY.verifier.text)
    assert "Verified Successfully" not in run(SIGNATURE, package, KEY=OTHER.verifier.text)
    note = package / "checkpoints" / "6"
    note.write_text(note.read_text().replace("\n6\n", "\n7\n"))
    assert "Verified Successfully" not in run(SIGNATURE, package, KEY=KEY.verifier.text)


def test_openssl_verifies_the_signature_of_the_manifest(package):
    signature = SIGNATURE.replace("checkpoints/$(jq -r .size manifest.json)", "manifest.json.note")
    assert signature != SIGNATURE
    assert "Verified Successfully" in run(signature, package, KEY=KEY.verifier.text)
    assert "Verified Successfully" not in run(signature, package, KEY=OTHER.verifier.text)
    assert run(MANIFEST, package) == "manifest.json is the one that was signed"
    manifest = package / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"entries": 6', '"entries": 5'))
    assert run(MANIFEST, package) == ""


def test_the_guides_command_checks_a_package(package):
    head = json.loads((package / "manifest.json").read_text())["head"]
    given = {"KEY": KEY.verifier.text, "HEAD": head}
    assert run(CHECK, package, **given).startswith("COMPLETE: entries 1 to 6.")
    assert run(CHECK, package, **given | {"HEAD": "0" * 64}).startswith("BROKEN: ")


def test_the_shell_writes_each_proof_to_a_file(package, tmp_path):
    part = make_export(tmp_path / "part", doc_id="CV-2")
    run(PROOFS, part)
    proofs = [part / f"0000{n}.tlog-proof" for n in range(3)]
    assert "".join(p.read_text() for p in proofs) == (
        (part / "proofs" / "inclusion.tlog-proofs").read_text()
    )


def test_the_document_names_every_file_of_a_package(package, tmp_path):
    part = make_export(tmp_path / "part", doc_id="CV-2")
    text = DOCUMENT.read_text()
    for folder in (package, part):
        for path in folder.rglob("*.*"):
            name = path.relative_to(folder).as_posix()
            assert f"`{re.sub('[0-9]+[.]consistency', 'SIZE.consistency', name)}`" in text


def test_the_document_describes_every_field(db):
    table = DOCUMENT.read_text().split("## Details")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert set(re.findall(r"`(\w+)`", " ".join(rows))) == chain.FIELDS


@pytest.mark.slow
def test_the_command_for_time_stamps_accepts_only_the_token_of_its_note(stamped, tmp_path):
    (tmp_path / "proof.txt").write_text(place("rfc3161").put("", 41, NOTE).proof)
    (tmp_path / "tsa-root.pem").write_bytes(stamped.root.read_bytes())
    (tmp_path / "41.checkpoint").write_text(NOTE)
    assert "OK" in run(VERIFY_TOKEN, tmp_path)
    (tmp_path / "41.checkpoint").write_text(NOTE.replace("41", "42"))
    assert "OK" not in run(VERIFY_TOKEN, tmp_path)
