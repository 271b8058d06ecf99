"""What somebody may do to an export, and what shows it. The verifier is the inspector's own.

Each change is also made by one who knows the format, and renews the manifest after it.
"""

import json
import shutil

import pytest

from audit import chain, history, notes, tree
from audit.export.package import _hash_of
from tests.audit.export.support import KEY, NAME, OTHER, exported, inspect, sign, write_ways
from tests.audit.support import guards_down, sql, write

KNOWN = ["--vkey", KEY.verifier.text]


def lines_of(package):
    return (package / "entries.ndjson").read_text().splitlines()


def put(package, lines):
    (package / "entries.ndjson").write_text("".join(f"{line}\n" for line in lines))


def relinked(lines):
    """Every line anew, with number and predecessor as they have to be: a chain that holds."""
    fixed, prev = [], chain.GENESIS
    for seq, line in enumerate(lines, start=1):
        fixed.append(chain.canonical(json.loads(line) | {"seq": seq, "prev": prev}))
        prev = chain.digest(fixed[-1])
    return fixed


def spoil_and_relink(package, spoil):
    """A line that is none of the format, in a chain that holds; the others as they were."""
    lines, hashes = lines_of(package), {}
    for at, line in enumerate(lines):
        before = chain.digest(line)
        for old, new in hashes.items():
            line = line.replace(old, new)  # noqa: PLW2901 - the line as it is now
        lines[at] = spoil(line) if at == 4 else line
        hashes = {before: chain.digest(lines[at])}
    put(package, lines)


def renew_manifest(package, **claims):
    manifest = json.loads((package / "manifest.json").read_text())
    lines = lines_of(package)
    manifest |= {"head": chain.digest(lines[-1]), "entries": len(lines)}
    manifest["files"] = {name: _hash_of(package / name) for name in manifest["files"]}
    (package / "manifest.json").write_text(json.dumps(manifest | claims))


def edit(package):
    lines = lines_of(package)
    put(package, [*lines[:4], lines[4].replace("DE-014", "DE-015"), *lines[5:]])


def edit_the_last(package):
    lines = lines_of(package)
    put(package, [*lines[:-1], lines[-1].replace("ARCHIVED", "REJECTED")])


def delete(package):
    lines = lines_of(package)
    put(package, lines[:4] + lines[5:])


def delete_the_first(package):
    put(package, lines_of(package)[1:])


def swap(package):
    lines = lines_of(package)
    put(package, [*lines[:4], lines[5], lines[4], *lines[6:]])


def duplicate(package):
    lines = lines_of(package)
    put(package, lines[:5] + lines[4:])


def edit_and_relink(package):
    edit(package)
    put(package, relinked(lines_of(package)))


def delete_and_relink(package):
    delete(package)
    put(package, relinked(lines_of(package)))
    file = package / "details.ndjson"
    details = [json.loads(line) for line in file.read_text().splitlines()]
    del details[4]
    moved = [detail | {"seq": seq} for seq, detail in enumerate(details, start=1)]
    file.write_text("".join(f"{json.dumps(detail)}\n" for detail in moved))


def say_a_field_twice(package):
    spoil_and_relink(package, lambda line: line.replace('"code":', '"code":"","code":'))


def follow_two_entries(package):
    spoil_and_relink(package, lambda line: line.replace('"prev":', f'"prev":"{"0" * 64}","prev":'))


def put_garbage_around_what_is_looked_for(package):
    spoil_and_relink(package, lambda line: f"no JSON: {line}")


def cut_off(package):
    put(package, lines_of(package)[:-2])


def rewrite_the_end(package):
    edit_the_last(package)
    put(package, relinked(lines_of(package)))


def add_an_entry(package):
    lines = lines_of(package)
    put(package, relinked([*lines, lines[-1].replace("CV-4", "CV-9")]))


def bring_in_from_another_trail(package):
    lines = lines_of(package)
    strange = lines[-1].replace('"trail":"siteledger"', '"trail":"elsewhere"')
    put(package, [*lines[:-1], strange])


def break_the_last_line(package):
    file = package / "entries.ndjson"
    file.write_bytes(file.read_bytes()[:-1])


def edit_a_checkpoint(package):
    file = package / "checkpoints" / "6"
    file.write_text(file.read_text().replace("\n6\n", "\n5\n"))


def sign_with_another_key(package):
    frontier = tree.Frontier()
    for line in lines_of(package):
        frontier.add(tree.leaf(line))
    head = notes.Head(NAME, frontier.size, frontier.root())
    (package / "checkpoints" / str(frontier.size)).write_text(notes.signed(head.text, [OTHER]))


def edit_a_detail(package):
    file = package / "details.ndjson"
    file.write_text(file.read_text().replace("no. 1 of 2", "no. 1 of 9"))


def drop_a_detail(package):
    file = package / "details.ndjson"
    file.write_text("".join(file.read_text().splitlines(keepends=True)[1:]))


def add_a_detail(package):
    with (package / "details.ndjson").open("a") as file:
        file.write('{"detail":"{}","salt":"","seq":13}\n')


TAMPERINGS = {
    edit: "entry 6 does not follow",
    edit_the_last: "12 entries are not those of a checkpoint",
    delete: "entry 5 does not follow",
    delete_the_first: "entry 1 does not follow",
    swap: "entry 5 does not follow",
    duplicate: "entry 6 does not follow",
    edit_and_relink: "6 entries are not those of a checkpoint",
    delete_and_relink: "6 entries are not those of a checkpoint",
    say_a_field_twice: "6 entries are not those of a checkpoint",
    follow_two_entries: "6 entries are not those of a checkpoint",
    put_garbage_around_what_is_looked_for: "6 entries are not those of a checkpoint",
    cut_off: "10 entries, not 12",
    rewrite_the_end: "12 entries are not those of a checkpoint",
    add_an_entry: "13 entries, not 12",
    bring_in_from_another_trail: "12 entries are not those of a checkpoint",
    break_the_last_line: "12 entries are not those of a checkpoint",
    edit_a_checkpoint: "siteledger.example/trail+2d5274e8 did not sign it",
    sign_with_another_key: "12 entries: not signed by a key you know",
    edit_a_detail: "entry 5: its detail was changed",
    drop_a_detail: "details that are missing: {'entry:1'}",
    add_a_detail: "'seq': 13",
}


@pytest.mark.requirement("R05")
def test_an_export_that_nobody_touched_holds(package):
    code, told = inspect(package, *KNOWN)
    assert (code, told.startswith("HOLDS: 12 entries, signed by")) == (0, True)


@pytest.mark.requirement("R05")
@pytest.mark.parametrize("change", TAMPERINGS, ids=lambda change: change.__name__)
def test_whatever_is_changed_the_manifest_shows_it(package, change):
    change(package)
    code, told = inspect(package, *KNOWN)
    assert code == 1
    assert "was changed: the manifest has another" in told


@pytest.mark.requirement("R05")
@pytest.mark.parametrize(
    ("change", "shown"), TAMPERINGS.items(), ids=lambda c: getattr(c, "__name__", "")
)
def test_whoever_renews_the_manifest_is_caught_all_the_same(package, change, shown):
    change(package)
    renew_manifest(package)
    code, told = inspect(package, *KNOWN)
    assert (code, shown in told) == (1, True), told


@pytest.mark.requirement("R11")
@pytest.mark.parametrize("name", ["timeline.csv", "report.pdf", "fhir/AuditEvent.ndjson"])
def test_a_copy_for_people_cannot_be_edited_alone(package, name):
    with (package / name).open("ab") as file:
        file.write(b"x")
    assert inspect(package, *KNOWN) == (
        1, f"DOES NOT HOLD: {name} was changed: the manifest has another.\n",
    )  # fmt: skip


@pytest.mark.requirement("R11")
def test_a_copy_that_was_edited_with_its_manifest_shows_against_the_manifests_own_hash(package):
    on_record = history.find(limit=1)[0].sha256
    assert inspect(package, "--known", on_record)[0] == 0
    with (package / "timeline.csv").open("ab") as file:
        file.write(b"x")
    renew_manifest(package)
    assert inspect(package, *KNOWN)[0] == 0  # its entries are still those that were signed
    code, told = inspect(package, "--known", on_record)
    assert (code, on_record in told) == (1, True)


@pytest.mark.parametrize(
    ("claim", "shown"),
    [
        ({"size": 6}, "entries were signed that are not those of this trail"),
        ({"size": 13}, "12 entries, not 13"),
        ({"head": "00"}, "12 entries, not 12"),
        ({"whole": False}, "inclusion.tlog-proofs"),
        ({"files": {"../../etc/passwd": "00"}}, "../../etc/passwd"),
    ],
)
def test_a_manifest_that_claims_something_else_is_caught(package, claim, shown):
    renew_manifest(package, **claim)
    code, told = inspect(package, *KNOWN)
    assert (code, shown in told) == (1, True), told


def cut_off_and_drop_the_newer_checkpoints(package):
    put(package, lines_of(package)[:6])
    details = (package / "details.ndjson").read_text().splitlines(keepends=True)
    (package / "details.ndjson").write_text("".join(details[:6]))
    (package / "checkpoints" / "12").unlink()
    manifest = json.loads((package / "manifest.json").read_text())
    del manifest["files"]["checkpoints/12"]
    (package / "manifest.json").write_text(json.dumps(manifest))
    note = (package / "checkpoints" / "6").read_text()
    renew_manifest(package, size=6, root=notes.Head.parse(note).root.hex())


@pytest.mark.requirement("R05")
def test_an_end_cut_off_with_its_checkpoints_shows_only_against_a_head_held_elsewhere(
    package, tmp_path
):
    kept = tmp_path / "checkpoint-of-the-inspector"
    shutil.copy(package / "checkpoints" / "12", kept)
    head = chain.digest(lines_of(package)[9])
    cut_off_and_drop_the_newer_checkpoints(package)
    assert inspect(package, *KNOWN)[0] == 0  # nothing inside can tell
    code, told = inspect(package, *KNOWN, "--known", str(kept))
    assert (code, "12 entries were signed that are not those of this trail" in told) == (1, True)
    code, told = inspect(package, *KNOWN, "--known", head)
    assert (code, "what you know is not among its entries" in told) == (1, True)


@pytest.mark.requirement("R05")
def test_a_trail_written_anew_with_its_own_key_shows_against_an_older_head(package, tmp_path):
    kept = tmp_path / "checkpoint-of-the-inspector"
    shutil.copy(package / "checkpoints" / "6", kept)
    (package / "checkpoints" / "6").unlink()
    edit_and_relink(package)
    sign_with_another_key(package)
    (package / "vkeys.txt").write_text(OTHER.verifier.text)
    note = (package / "checkpoints" / "12").read_text()
    manifest = json.loads((package / "manifest.json").read_text())
    del manifest["files"]["checkpoints/6"]
    (package / "manifest.json").write_text(json.dumps(manifest))
    renew_manifest(package, root=notes.Head.parse(note).root.hex())
    assert inspect(package)[0] == 3  # it agrees with itself
    assert inspect(package, *KNOWN)[0] == 1
    code, told = inspect(package, "--known", str(kept))
    assert (code, "6 entries are not those of a checkpoint" in told) == (1, True)


@pytest.mark.parametrize("size", ["6", "12"])
def test_an_older_head_that_the_trail_contains_is_accepted(package, size):
    kept = package / "checkpoints" / size
    head = chain.digest(lines_of(package)[int(size) - 1])
    assert inspect(package, "--known", str(kept), "--known", head)[0] == 0


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda p: (p / "manifest.json").unlink(), "No such file"),
        (lambda p: (p / "manifest.json").write_text("{"), "Expecting"),
    ],
    ids=["no manifest", "half a manifest"],
)
def test_what_is_no_package_cannot_be_checked(package, spoil, told):
    spoil(package)
    code, said = inspect(package)
    assert (code, told in said) == (2, True)


@pytest.mark.parametrize("given", [["--vkey", "a+b"], ["--known", "abc"]])
def test_what_the_inspector_mistyped_is_not_held_against_the_package(package, given):
    assert inspect(package, *given)[0] == 2


def test_without_anything_from_outside_the_package_only_agrees_with_itself(package):
    code, told = inspect(package)
    assert (code, told.splitlines()[-1].startswith("HOLDS IN ITSELF")) == (3, True)


def redact(seq, *, on_record=True):
    if on_record:
        reason = {"reason": "a person's name"}
        write(subject=f"entry:{seq}", event="ledger.detail_redacted", detail=reason)
    with guards_down():
        sql("DELETE FROM audit_entrydetail WHERE entry_id = %s", seq)


@pytest.mark.requirement("R38")
def test_a_detail_taken_out_on_record_is_accounted_for(trail, tmp_path):
    redact(5)
    sign()
    code, told = inspect(exported(tmp_path / "export"), *KNOWN)
    assert code == 0, told
    assert "no. 1 of 2" not in (tmp_path / "export" / "details.ndjson").read_text()


@pytest.mark.requirement("R38")
def test_a_part_brings_the_entry_by_which_a_detail_was_taken_out(trail, tmp_path):
    redact(5)
    write_ways(5)
    sign()
    part = exported(tmp_path / "export", doc_id="CV-2")
    assert [json.loads(line)["seq"] for line in lines_of(part)] == [4, 5, 6, 13]
    code, told = inspect(part, *KNOWN)
    assert code == 0, told


@pytest.fixture
def part(trail, tmp_path):
    """The three entries of one document, without the others."""
    return exported(tmp_path / "part", doc_id="CV-3")


def test_a_part_proves_each_entry_and_gives_away_no_other(part):
    code, told = inspect(part, *KNOWN)
    assert code == 0, told
    everything = b"".join(path.read_bytes() for path in part.rglob("*") if path.is_file())
    assert b"CV-3" in everything
    assert b"CV-4" not in everything
    assert b"DE-014" not in everything


def drop_an_entry_and_its_detail(part):
    put(part, lines_of(part)[:-1])
    details = (part / "details.ndjson").read_text().splitlines(keepends=True)
    (part / "details.ndjson").write_text("".join(details[:-1]))


def drop_the_proofs(part):
    (part / "proofs" / "inclusion.tlog-proofs").write_text("")


def edit_a_proof(part):
    file = part / "proofs" / "inclusion.tlog-proofs"
    index, first, *rest = file.read_text().split("\n")[1:]
    lines = ["c2sp.org/tlog-proof@v1", index, first.swapcase(), *rest]
    file.write_text("\n".join(lines))


def swap_the_first(part):
    first, second, *rest = lines_of(part)
    put(part, [second, first, *rest])


def sign_a_part_with_another_key(part):
    file = part / "checkpoints" / "12"
    head = file.read_text().partition("\n\n")[0] + "\n"
    file.write_text(notes.signed(head, [KEY, OTHER]))


PART_TAMPERINGS = {
    edit_the_last: "entry 9 is not proved by the checkpoint of 12 entries",
    swap_the_first: "entry 8 is not proved by the checkpoint of 12 entries",
    drop_an_entry_and_its_detail: "a proof is there whose entry is missing",
    drop_the_proofs: "entry 7 is not proved",
    edit_a_proof: "entry 7 is not proved by the checkpoint of 12 entries",
    drop_a_detail: "details that are missing: {'entry:7'}",
    break_the_last_line: "DOES NOT HOLD",
    sign_a_part_with_another_key: "entry 7 is not proved by the checkpoint of 12 entries",
}


@pytest.mark.requirement("R05")
@pytest.mark.parametrize(
    ("change", "shown"), PART_TAMPERINGS.items(), ids=lambda c: getattr(c, "__name__", "")
)
def test_a_part_that_was_changed_shows_it(part, change, shown):
    change(part)
    renew_manifest(part)
    code, told = inspect(part)
    assert (code, shown in told) == (1, True), told


def test_a_part_is_compared_with_a_checkpoint_or_with_a_head_that_it_has(part, package):
    assert inspect(part, "--known", str(package / "checkpoints" / "12"))[0] == 0
    assert inspect(part, "--known", str(package / "checkpoints" / "6"))[0] == 2
    lines = lines_of(package)
    assert inspect(part, "--known", chain.digest(lines[6]))[0] == 0
    code, told = inspect(part, "--known", chain.digest(lines[2]))
    assert (code, "what you know is not among its entries" in told) == (2, True)


def test_a_part_cannot_be_compared_with_a_checkpoint_that_it_has_no_way_from(part, tmp_path):
    frontier = tree.Frontier()
    frontier.add(tree.leaf("another line"))
    kept = tmp_path / "kept"
    kept.write_text(notes.signed(notes.Head(NAME, 1, frontier.root()).text, [KEY]))
    assert inspect(part, "--known", str(kept))[0] == 2


@pytest.mark.parametrize("size", ["0", "-1", "x", "9" * 5000])
def test_a_checkpoint_of_a_strange_size_is_no_checkpoint(part, size):
    (part / "checkpoints" / "6").write_text(f"{NAME}\n{size}\n{'A' * 43}=\n\n\u2014 x AAAA\n")
    renew_manifest(part)
    assert inspect(part)[0] == 1
