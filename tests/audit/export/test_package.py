"""Tests of an export: its content, its manifest and signature, its record, and its refusals."""

import hashlib
import json
import tracemalloc
import zipfile

import pytest

from audit.export import proofs
from audit.export.package import make_package
from audit.export.selection import Selection
from audit.export.trail import ExportRefused
from audit.ledger import chain, merkle_tree, queries
from audit.ledger.actors import Actor, add_process
from audit.ledger.chain import BrokenChain
from audit.ledger.log import write_time
from audit.signing import signed_note
from tests.audit.export.support import (
    KEY,
    OTHER,
    inspect,
    keep_checkpoint,
    make_export,
    publish,
    sign,
    write_documents,
)
from tests.audit.ledger.test_merkle_tree import hashes_of
from tests.audit.support import sql, triggers_removed, write


def files_of(folder):
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()
    }


@pytest.mark.requirement("R33")
def test_the_same_checkpoint_and_selection_give_the_same_bytes(trail, tmp_path):
    first = files_of(make_export(tmp_path / "first"))
    second = files_of(make_export(tmp_path / "second"))
    assert first.pop("run.json") != second.pop("run.json")
    assert first == second


def test_a_longer_trail_gives_the_same_bytes_at_the_old_size(trail, tmp_path):
    before = make_export(tmp_path / "before.zip")
    write_documents(5)
    sign()
    after = tmp_path / "after.zip"
    make_package(after, Selection(), by=Actor("user:1"), size=12)
    assert before.read_bytes() == after.read_bytes()


def test_a_zip_file_has_the_same_files_as_the_folder(package_of_trail, tmp_path):
    with zipfile.ZipFile(make_export(tmp_path / "export.zip")) as archive:
        archive.extractall(tmp_path / "unpacked")
        assert {file.date_time for file in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    folder = files_of(package_of_trail)
    del folder["run.json"]
    assert files_of(tmp_path / "unpacked") == folder
    assert (tmp_path / "export.run.json").exists()


def test_the_manifest_covers_every_file_except_itself_its_signature_and_run_json(package_of_trail):
    manifest = json.loads((package_of_trail / "manifest.json").read_text())
    hashes = {
        name: hashlib.sha256(raw).hexdigest() for name, raw in files_of(package_of_trail).items()
    }
    del hashes["manifest.json"], hashes["manifest.json.note"], hashes["run.json"]
    assert manifest["files"] == hashes
    assert (manifest["size"], manifest["states"]["ARCHIVED"], manifest["details"]) == (12, 4, 12)


def test_exported_entries_are_the_unmodified_lines_of_the_ledger(package_of_trail):
    lines = (package_of_trail / "entries.ndjson").read_text().splitlines()
    assert [chain.compute_digest(line) for line in lines] == [
        e[0] for e in sql("SELECT hash FROM audit_entry ORDER BY seq")[:12]
    ]


@pytest.mark.requirement("R07")
def test_an_export_is_recorded_with_the_hash_of_its_manifest(trail, tmp_path):
    target = make_export(tmp_path / "export", doc_id="CV-3", sites=["FR-002"])
    entry = queries.find_entries(limit=1)[0]
    manifest = (target / "manifest.json").read_bytes()
    by = add_process("system:command"), "ops"
    assert (entry.event, entry.actor, entry.role) == ("ledger.exported", *by)
    assert (entry.site, entry.doc_id) == ("FR-002", "CV-3")
    assert entry.sha256 == hashlib.sha256(manifest).hexdigest()
    assert entry.detail["filters"] == {"doc_id": "CV-3", "sites": ["FR-002"]}


def test_an_export_that_cannot_be_recorded_is_not_created(trail, tmp_path, monkeypatch):
    # Recording raises LedgerError, as after a change of AUDIT_TRAIL.
    monkeypatch.setattr("django.conf.settings.AUDIT_TRAIL", "another")
    with pytest.raises(Exception, match="this ledger is 'siteledger'"):
        make_export(tmp_path / "export")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["anchors", "anchors-key"]


@pytest.mark.parametrize(
    ("choice", "seqs"),
    [
        ({"sites": ["DE-014"]}, range(1, 7)),
        ({"sites": ["DE-014", "FR-002"]}, range(1, 13)),
        ({"doc_id": "CV-2"}, range(4, 7)),
        ({"correlation_id": "packet-4"}, range(10, 13)),
        ({"since": "2000"}, range(1, 13)),
    ],
)
def test_a_part_has_the_selected_entries(trail, tmp_path, choice, seqs):
    part = make_export(tmp_path / "part", **choice)
    lines = (part / "entries.ndjson").read_text().splitlines()
    assert [json.loads(line)["seq"] for line in lines] == list(seqs)
    code, output = inspect(
        part, "--part", "--vkey", KEY.verifier.text, "--known", keep_checkpoint(part)
    )
    assert (code, output.startswith(f"PART: {len(seqs)} of 12 entries; ")) == (0, True), output


def test_a_time_range_includes_its_start_and_excludes_its_end(trail, tmp_path):
    entries = list(reversed(queries.find_entries(limit=12)))
    border = write_time(entries[6].recorded_at)
    from_border = make_export(tmp_path / "from-border", since=border)
    before_border = make_export(tmp_path / "before-border", until=border)
    parts = (before_border, from_border)
    count = [len((part / "entries.ndjson").read_text().splitlines()) for part in parts]
    assert sum(count) == 12
    assert all(count)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 11, 13, 64, 77])
def test_nodes_stored_in_files_are_those_of_the_tree(size, tmp_path):
    leaves = [merkle_tree.hash_leaf(f"line {n}") for n in range(size)]
    with proofs.StoredTree(tmp_path) as nodes:
        for hash_ in leaves:
            nodes.add(hash_)
        for start in range(size):
            for path in (
                merkle_tree.list_inclusion_path(start, size),
                merkle_tree.list_consistency_path(start + 1, size),
            ):
                assert [nodes.hash_of(span) for span in path] == hashes_of(path, leaves)
        with pytest.raises(KeyError):
            nodes.hash_of((1, 3)) if size > 3 else nodes.hash_of((5, 8))


def test_an_export_signs_a_checkpoint_of_the_newest_entries_first(db, anchors, tmp_path):
    write_documents(1)
    for size in (3, 4):  # the fourth entry is the first export's own
        made = make_package(tmp_path / f"export-{size}", Selection(), by=Actor("user:1"))
        assert (made.size, made.entries) == (size, size)


def test_a_missing_checkpoint_cannot_be_exported(trail, tmp_path):
    with pytest.raises(ExportRefused, match="there is no checkpoint of 4 entries"):
        make_package(tmp_path / "export", Selection(), by=Actor("user:1"), size=4)


@pytest.mark.parametrize("size", [None, 12])
def test_an_export_without_the_key_is_refused_and_names_the_missing_key(
    trail, settings, tmp_path, size
):
    settings.AUDIT_KEY_FILE.unlink()
    with pytest.raises(ExportRefused, match=r"signed with the ledger's key.*does not contain it"):
        make_package(tmp_path / "export", Selection(), by=Actor("user:1"), size=size)
    assert not (tmp_path / "export").exists()


@pytest.mark.requirement("R05")
def test_the_signature_of_the_manifest_is_a_signed_note(package_of_trail):
    raw = (package_of_trail / "manifest.json").read_bytes()
    note = (package_of_trail / "manifest.json.note").read_text()
    text, signers = signed_note.open_note(note, [KEY.verifier, OTHER.verifier])
    digest = hashlib.sha256(raw).hexdigest()
    assert text == f"siteledger-audit-export/2 manifest.json\nsha256 {digest}\n"
    assert signers == [KEY.verifier]
    with pytest.raises(signed_note.BadNote):
        signed_note.CheckpointText.parse(text)  # it is not a checkpoint


def test_a_selection_without_entries_is_refused(trail, tmp_path):
    with pytest.raises(ExportRefused, match="No entry matches"):
        make_export(tmp_path / "export", doc_id="CV-99")
    assert queries.find_entries(limit=1)[0].event == "document.filed"


def test_an_existing_target_is_not_overwritten(trail, tmp_path):
    (tmp_path / "export").mkdir()
    with pytest.raises(ExportRefused, match="already exists"):
        make_export(tmp_path / "export")


def test_a_checkpoint_that_no_published_key_signed_is_not_exported(trail, settings, tmp_path):
    publish(settings, tmp_path / "anchors", OTHER)
    with pytest.raises(ExportRefused, match="none of the given keys signed it"):
        make_export(tmp_path / "export")


def test_an_export_without_a_published_key_is_refused(trail, settings, tmp_path):
    settings.ANCHOR_DIR = tmp_path / "none"
    with pytest.raises(ExportRefused, match=r"There is no key yet.*audit_keys create"):
        make_export(tmp_path / "export")


@pytest.mark.requirement("R05")
@pytest.mark.parametrize(
    ("damage", "output"),
    [
        (
            "UPDATE audit_entry SET body = REPLACE(body, 'DE-014', 'DE-015') WHERE seq = 5",
            "entry 5",
        ),
        ("UPDATE audit_entrydetail SET detail = '{}' WHERE entry_id = 5", "its detail was changed"),
        ("DELETE FROM audit_entrydetail WHERE entry_id = 5", "its detail is missing"),
        ("UPDATE audit_checkpoint SET root = '00' WHERE size = 6", "differs from the checkpoint"),
        ("UPDATE audit_checkpoint SET head = '00' WHERE size = 12", "not the head that was signed"),
    ],
)
def test_an_invalid_ledger_is_not_exported(trail, tmp_path, damage, output):
    with triggers_removed():
        sql(damage)
    with pytest.raises(BrokenChain, match=output):
        make_export(tmp_path / "export")


def test_a_trail_shorter_than_its_checkpoint_is_not_exported(trail, tmp_path):
    with triggers_removed():
        sql("DELETE FROM audit_entrydetail WHERE entry_id > 10")
        sql("DELETE FROM audit_entry WHERE seq > 10")
    with pytest.raises(BrokenChain, match="the entries after it are missing"):
        make_export(tmp_path / "export")


@pytest.mark.requirement("R38")
def test_a_detail_redacted_after_the_checkpoint_requires_a_later_checkpoint(trail, tmp_path):
    write(subject="entry:5", event="ledger.detail_redacted", detail={"reason": "a name"})
    with triggers_removed():
        sql("DELETE FROM audit_entrydetail WHERE entry_id = 5")
    with pytest.raises(ExportRefused, match=r"of entry 5 was redacted .* by entry 13\. Sign a"):
        make_export(tmp_path / "export")


@pytest.mark.requirement("R38")
def test_a_redacted_detail_that_exists_again_is_not_exported(trail, tmp_path):
    write(subject="entry:5", event="ledger.detail_redacted", detail={"reason": "a name"})
    sign()
    with pytest.raises(
        BrokenChain, match="entry 5: its detail exists, although entry 13 redacted it"
    ):
        make_export(tmp_path / "export")


@pytest.mark.slow
def test_memory_use_of_an_export_does_not_grow_with_the_trail(trail, tmp_path, monkeypatch):
    """The trail becomes ten times as long. An export keeps only the pages of the report."""
    monkeypatch.setattr("audit.export.trail.ENTRIES_PER_PAGE", 50)
    monkeypatch.setattr("audit.export.report.MAX_PRINTED_ENTRIES", 50)

    def peak(name):
        tracemalloc.start()
        make_export(tmp_path / name, sites=["DE-014"])
        _, highest = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return highest

    write_documents(*range(10, 50))
    sign()
    peak("first")  # loads modules and fonts, which later exports share
    few = peak("few")
    write_documents(*range(100, 500))
    sign()
    assert peak("many") < few + 500_000


def test_progress_is_reported_up_to_the_end(trail, tmp_path, monkeypatch):
    monkeypatch.setattr("audit.export.trail.ENTRIES_PER_PAGE", 5)
    output = []
    make_package(
        tmp_path / "x", Selection(), by=Actor("a"), size=12, progress=lambda *at: output.append(at)
    )
    assert output == [(5, 12), (10, 12), (12, 12)]
