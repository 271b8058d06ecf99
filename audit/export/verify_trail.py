"""Verify an exported audit trail: python3 verify_trail.py FOLDER --vkey KEY --known HEAD .

KEY is the trail's public key, NAME+ID+KEY, or a file with keys. HEAD is a checkpoint's file, the
hash of an entry, or the SHA-256 of manifest.json. Take both, and this file, from elsewhere than
FOLDER. --part accepts a part of a trail; --doc ID and --correlation ID print timelines.

Exit codes, the first that applies: 2 it could not be checked; 1 it is broken; 4 it is a part, and
you did not give --part; 3 it is consistent, but only by the word of the installation that made it:
no HEAD vouches for it; 0 it holds, and a HEAD vouches for it.
"""

import argparse
import json
import os
import re
import stat
import sys
from base64 import b64decode
from functools import partial, reduce
from hashlib import sha256, sha512
from itertools import takewhile
from json.encoder import encode_basestring
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Set, Tuple

FORMAT = "siteledger-audit-export/2"
UNSIGNED_FORMAT = "siteledger-audit-export/1"  # of releases that did not sign the manifest
MANIFEST, NOTE = "manifest.json", "manifest.json.note"
UNCOVERED = {MANIFEST, NOTE, "run.json"}  # the files that the manifest cannot or does not name
PATH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*").fullmatch
TEXT = r'"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*"'  # in JSON
DETAIL = re.compile(
    r'{"detail":(' + TEXT + r'),"salt":"([0-9a-f]{32})","seq":([0-9]+)}\n'
).fullmatch
CANONICAL = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode
FAULTS = (AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError)
OWN_WORD = (
    "Consistent, but only by this installation's own word: nothing known from elsewhere vouches "
    "for its entries. Give --known a checkpoint or a head that you keep since earlier."
)
NO_KEY = (
    "Consistent, but only by this installation's own word, and its keys came with it: anybody "
    "could have signed its manifest. Give --vkey the key that was published to you."
)
UNSIGNED = (
    "manifest.json is not signed. An older release made this package, or somebody removed the "
    "signature. Nothing proves its filters, timeline.csv, report.pdf and fhir/. Have it exported "
    "again, or give --known the SHA-256 of manifest.json that the ledger has on record."
)
REDACTED = b'"event":"ledger.detail_redacted"'
P, ORDER = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
BASE = (4 * pow(5, P - 2, P) % P).to_bytes(32, "little")


class CannotCheck(Exception):
    """Something that the check needs is not there, or is not what it should be."""


def demand(holds: object, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def give_up(error: OSError) -> None:
    raise error


# --- Ed25519 (RFC 8032, 5.1): a point is (X, Y, Z, T) with x = X/Z, y = Y/Z and xy = T/Z ----------
def point(raw: bytes) -> Any:
    y, sign = int.from_bytes(raw, "little") % 2**255, raw[31] >> 7
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if x * x % P == square else x * pow(2, (P - 1) // 4, P) % P
    x = x if x % 2 == sign else P - x
    demand(len(raw) == 32 and y < P and x < P and x * x % P == square, "not a public key")
    return x, y, 1, x * y % P


def plus(p: Any, q: Any) -> Any:
    a, b = (p[1] - p[0]) * (q[1] - q[0]), (p[1] + p[0]) * (q[1] + q[0])
    c, d = 2 * p[3] * q[3] * D, 2 * p[2] * q[2]
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(n: int, p: Any) -> Any:
    half = times(n // 2, plus(p, p)) if n else (0, 1, 1, 0)
    return plus(half, p) if n % 2 else half


def is_signed(public: bytes, text: bytes, signature: bytes) -> Any:
    x, y, z, t = point(public)
    s = int.from_bytes(signature[32:], "little") % ORDER
    h = int.from_bytes(sha512(signature[:32] + public + text).digest(), "little") % ORDER
    x, y, z, t = plus(times(s, point(BASE)), times(h, (-x, y, z, -t)))  # R = s B - h A
    x, y = x * pow(z, P - 2, P) % P, y * pow(z, P - 2, P) % P
    return signature == (y | x % 2 << 255).to_bytes(32, "little") + s.to_bytes(32, "little")


# --- Signed notes (c2sp.org/signed-note) and checkpoints (c2sp.org/tlog-checkpoint) ---------------
Keys = Dict[str, bytes]  # public keys by NAME+ID


class Checkpoint(NamedTuple):
    """A trail had `size` entries, whose tree had this root."""

    origin: str
    size: int
    root: bytes
    signers: Set[str]  # keys of the trail's own name


def keys_in(text: str) -> Keys:
    keys = {}
    for name, id_, encoded in re.findall(r"([^\s+]+)\+([0-9a-f]{8})\+(\S+)", text):
        key = b64decode(encoded)
        if sha256(f"{name}\n".encode() + key).hexdigest()[:8] == id_ and key[0] == 1:
            keys[f"{name}+{id_}"] = key[1:]  # 1: Ed25519; other kinds are passed over
    return keys


def opened(note: bytes, keys: Keys) -> Tuple[bytes, Set[str]]:
    """Return the text of a signed note, and which of these keys signed it."""
    text, gap, lines = note.rpartition(b"\n\n")
    text, signers = text + b"\n", set()
    demand(gap and lines.endswith(b"\n"), "not a signed note")
    for line in lines[:-1].decode().split("\n"):
        name, _, encoded = line[2:].partition(" ")
        raw = b64decode(encoded, validate=True)
        demand(line[:2] == "\u2014 " and len(raw) > 4, f"not the line of a signature: {line!a}")
        key = f"{name}+{raw[:4].hex()}"
        if key in keys:
            demand(is_signed(keys[key], text, raw[4:]), f"{key} did not sign it")
            signers.add(key)
    return text, signers


def checkpoint(path: Path, keys: Keys) -> Checkpoint:
    text, signers = opened(path.read_bytes(), keys)
    origin, size, encoded, *_ = text.decode().split("\n")
    (root,) = hashes_in([encoded])
    demand(re.fullmatch("[1-9][0-9]{0,15}", size), f"{path.name} is not a checkpoint")
    own = {key for key in signers if key.startswith(f"{origin}+")}
    return Checkpoint(origin, int(size), root, own)


# --- The Merkle tree (RFC 6962, 2.1) --------------------------------------------------------------
def hashes_in(lines: Iterable[str]) -> List[bytes]:
    hashes = [b64decode(line, validate=True) for line in lines]
    demand(all(len(hash_) == 32 for hash_ in hashes), "a hash does not have 32 bytes")
    return hashes


def node(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01" + left + right).digest()


def left_of(size: int) -> int:
    """Return how many leaves the left half has: the largest power of two below `size`."""
    return 1 << (size - 1).bit_length() - 1


def root_above(leaf: bytes, index: int, size: int, path: List[bytes]) -> bytes:
    """Return the root over `size` leaves, from one of them and its inclusion proof (2.1.1)."""
    if size <= 1 or not path:
        return leaf if (index, size, path) == (0, 1, []) else b""
    left = left_of(size)
    if index < left:
        return node(root_above(leaf, index, left, path[:-1]), path[-1])
    return node(path[-1], root_above(leaf, index - left, size - left, path[:-1]))


def roots_over(old: int, size: int, path: List[bytes], root: bytes) -> Tuple[bytes, bytes]:
    """Return the roots over `old` and over `size` leaves, from a consistency proof (2.1.2).

    `root` stands over the first `old` leaves; b"" where the proof has it.
    """
    demand(size > old or len(path) == (not root), "a consistency proof of another length")
    if old == size:
        return root or path[0], root or path[0]
    demand(path, "a consistency proof of another length")
    left = left_of(size)
    if old <= left:
        before, after = roots_over(old, left, path[:-1], root)
        return before, node(after, path[-1])
    before, after = roots_over(old - left, size - left, path[:-1], b"")
    return node(path[-1], before), node(path[-1], after)


# --- JSON -----------------------------------------------------------------------------------------
def unique(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    found = dict(pairs)
    demand(len(found) == len(pairs), "an object of the JSON has a key twice")
    return found


def refuse(number: str) -> None:
    raise ValueError(f"{number} is not a whole number")


parsed = json.JSONDecoder(
    object_pairs_hook=unique, parse_float=refuse, parse_constant=refuse
).decode
scanned = json.JSONDecoder(parse_float=refuse, parse_constant=refuse).raw_decode


def detail_in(line: str) -> Tuple[int, bytes]:
    """Return the number of an entry, and what its `detail_commit` is the SHA-256 of."""
    found = DETAIL(line)
    if not found:
        raise ValueError(f"not a canonical line of detail, salt (32 hex) and seq: {line[:99]!a}")
    text, _ = scanned(found[1])
    fits = encode_basestring(text) == found[1] and CANONICAL(scanned(text)[0]) == text
    if not fits or text[0] != "{":
        raise ValueError(f"not a canonical detail: {line[:99]!a}")
    return int(found[3]), bytes.fromhex(found[2]) + text.encode()


class Trail:
    """The package in `folder`, and what the inspector knows from elsewhere."""

    def __init__(self, folder: Path, vkeys: List[str], known: Set[str]) -> None:
        self.folder, self.keys = folder, {}
        for given in vkeys:
            text = self.elsewhere(given).read_text("utf-8") if Path(given).is_file() else given
            self.keys.update(keys_in(text))
            if not keys_in(text):
                raise CannotCheck(f"{given} has no key of the form NAME+ID+KEY")
        self.hashes = {each.lower() for each in known if re.fullmatch("[0-9a-fA-F]{64}", each)}
        paths = sorted(each for each in known if each.lower() not in self.hashes)
        self.heads = {path: checkpoint(self.elsewhere(path), self.keys) for path in paths}
        self.vouched = 0  # up to this number, entries are those that are known from elsewhere

    def elsewhere(self, given: str) -> Path:
        path = Path(given).resolve()
        if self.folder.resolve() in path.parents:
            raise CannotCheck(f"{given} lies in the package: take it from elsewhere")
        return path

    def check(self, asked: Set[str]) -> None:
        """Check all of it, and print the timelines of the documents and packets that are asked for.

        Raises ValueError and its like for what is broken, CannotCheck for what cannot be compared.
        """
        self.check_signature()
        self.check_manifest()
        self.check_files()
        self.check_checkpoints()
        self.check_entries(asked)

    def files(self) -> Iterator[str]:
        """Yield the paths of the files that are there, and refuse links, pipes and devices."""
        for parent, folders, files in os.walk(str(self.folder), onerror=give_up):
            for path in (Path(parent, name) for name in folders + files):
                name, mode = path.relative_to(self.folder).as_posix(), path.lstat().st_mode
                is_file = stat.S_ISREG(mode)
                demand(is_file or stat.S_ISDIR(mode), f"{name!a} is neither a file nor a folder")
                if is_file:
                    yield name

    def check_signature(self) -> None:
        """The manifest is the one that was signed, with a key of its trail."""
        if not (self.folder / MANIFEST).exists():
            raise CannotCheck(f"there is no {MANIFEST} in {self.folder}")
        self.present = set(self.files())
        raw, signers = (self.folder / MANIFEST).read_bytes(), set()
        self.came_with_it = not self.keys
        if not self.keys and "vkeys.txt" in self.present:
            self.keys = keys_in((self.folder / "vkeys.txt").read_text("utf-8"))
        self.is_covered, self.digest = NOTE in self.present, sha256(raw).hexdigest()
        if self.is_covered:
            text, signers = opened((self.folder / NOTE).read_bytes(), self.keys)
            expected = f"{FORMAT} {MANIFEST}\nsha256 {self.digest}\n".encode()
            demand(text == expected, f"{MANIFEST} is not the one that was signed")
        self.manifest = parsed(raw.decode())
        format_, origin = self.manifest["format"], self.manifest["origin"]
        if format_ not in (FORMAT, UNSIGNED_FORMAT):
            raise CannotCheck(f"its format is {format_!a}, and this program knows {FORMAT}")
        if format_ == FORMAT or self.is_covered:
            demand(self.is_covered, f"{NOTE} is missing: nothing shows who made {MANIFEST}")
            own = any(key.startswith(f"{origin}+") for key in signers)
            demand(own, f"{MANIFEST} is not signed by a key you know")

    def check_manifest(self) -> None:
        """The manifest does not contradict itself."""
        m = self.manifest
        counts = [m["size"], m["entries"], m["first_seq"], m["last_seq"], m["details"]]
        fits = all(type(count) is int for count in counts) and m["whole"] is (m["filters"] == {})
        demand(fits, f"{MANIFEST} contradicts itself")
        self.size = m["size"]
        self.is_known = self.digest in self.hashes
        if self.is_known:
            self.hashes.discard(self.digest)
            self.is_covered, self.vouched = True, self.size

    def check_files(self) -> None:
        """The files are those that the manifest names, and no others."""
        files = self.manifest["files"]
        for name in files:
            demand(PATH(name), f"{name!a} is not the path of a file in the package")
        missing, added = set(files) - self.present, self.present - set(files) - UNCOVERED
        demand(not missing, f"the manifest names files that are missing: {sorted(missing)}")
        demand(not added, f"files are there that the manifest does not name: {sorted(added)!a}")
        for name, expected in files.items():
            digest = sha256()
            with (self.folder / name).open("rb") as file:
                for block in iter(partial(file.read, 65536), b""):
                    digest.update(block)
            demand(digest.hexdigest() == expected, f"{name} was changed: the manifest has another")

    def check_checkpoints(self) -> None:
        """All checkpoints are of this trail: the package's, and those known from elsewhere."""
        whole, origin, heads = self.manifest["whole"], self.manifest["origin"], {}
        for name in self.manifest["files"]:
            if re.fullmatch("checkpoints/[0-9]+", name):
                head = heads[name] = checkpoint(self.folder / name, self.keys)
                fits = (f"checkpoints/{head.size}", head.origin) == (name, origin)
                demand(fits and head.size <= self.size, f"{name} is no checkpoint of this trail")
        demand(f"checkpoints/{self.size}" in heads, f"it has no checkpoint of {self.size} entries")
        self.last = heads[f"checkpoints/{self.size}"]
        self.roots = {head.size: head.root for head in heads.values()}
        demand(self.last.root.hex() == self.manifest["root"], f"{MANIFEST} has another root")
        own = self.last.signers or not self.keys
        demand(own, f"{self.size} entries: not signed by a key you know")
        for old in () if whole else sorted(self.roots.keys() - {self.size}):
            self.check_growth(old)
        for path, head in self.heads.items():
            if head.origin != origin:
                raise CannotCheck(f"{path} is of the trail {head.origin!a}, this is {origin!a}")
            longer = f"{path} is of {head.size} entries, and this trail ends after {self.size}"
            demand(head.size <= self.size, f"{longer}: it was cut off, or exported before")
            if not whole and head.size not in self.roots:
                raise CannotCheck(f"{path}: no proof leads from {head.size} entries to this part")
            same = self.roots.setdefault(head.size, head.root) == head.root
            demand(same, f"{path}: {head.size} entries were signed that are not those here")
            self.vouched = max(self.vouched, head.size)

    def check_growth(self, old: int) -> None:
        """A part's trail has grown from its first `old` entries, as the proof of that shows."""
        proof = (self.folder / "proofs" / f"{old}.consistency").read_text("utf-8")
        first, *path = proof.partition("\n\n")[0].split("\n")
        found = roots_over(old, self.size, hashes_in(path), self.roots[old])
        fits = first == f"old {old}" and found == (self.roots[old], self.last.root)
        demand(fits, f"the trail has not grown from the checkpoint of {old} entries")

    def check_entries(self, asked: Set[str]) -> None:
        """The entries and their details are those that were signed, and as many as is said."""
        self.missing, self.known_alone = set(), []
        self.count = self.first = self.opened = self.gone = seq = 0
        with (self.folder / "details.ndjson").open(encoding="utf-8", newline="\n") as lines:
            self.details = map(detail_in, lines)
            self.detail = next(self.details, None)
            for seq, line, hash_ in self.all() if self.manifest["whole"] else self.part():
                self.count, self.first = self.count + 1, self.first or seq
                if hash_ in self.hashes:
                    self.recognise(seq, hash_)
                if b'"detail_commit":"",' not in line or REDACTED in line:
                    self.check_detail(seq, line)
                e = json.loads(line) if asked else {}
                if e and asked & {e.get("doc_id"), e.get("correlation_id")}:
                    print(seq, e["recorded_at"], e["event"], e["to"], e["code"], e["actor"], hash_)
        lost = f"details that are missing: {self.missing}, or out of place: {self.detail}"
        demand(not (self.missing or self.detail), lost)
        names = ("entries", "first_seq", "last_seq", "details", "details_taken_out")
        said = [self.manifest[name] for name in names]
        found = [self.count, self.first, seq, self.opened, self.gone]
        demand(said == found, f"{names} are {found}, and {MANIFEST} says {said}")
        unknown = f"what you know is not among its entries: {sorted(self.hashes)}"
        if self.hashes and not self.manifest["whole"]:
            raise CannotCheck(f"{unknown}, which a part need not have")
        demand(not self.hashes, unknown)

    def recognise(self, seq: int, hash_: str) -> None:
        """An entry is known from elsewhere: with all before it, where the chain leads to it."""
        self.hashes.discard(hash_)
        if self.manifest["whole"]:
            self.vouched = max(self.vouched, seq)
        else:
            self.known_alone.append(seq)

    def check_detail(self, seq: int, line: bytes) -> None:
        commit = line.partition(b'"detail_commit":"')[2][:64].decode()
        if self.detail and self.detail[0] == seq:
            if sha256(self.detail[1]).hexdigest() != commit:
                raise ValueError(f"entry {seq}: its detail was changed")
            self.opened, self.detail = self.opened + 1, next(self.details, None)
        elif commit[:1] != '"':
            self.missing.add(f"entry:{seq}")
            self.gone += 1
        if REDACTED in line:
            self.missing.discard(json.loads(line)["subject"])

    def all(self) -> Iterator[Tuple[int, bytes, str]]:
        """A whole trail: each entry by the hash before it, all of them by the checkpoints."""
        seq, head, nodes = 0, "0" * 64, []
        with (self.folder / "entries.ndjson").open("rb") as lines:
            for raw in lines:
                line, size, seq = raw[:-1], seq, seq + 1
                there = line.rfind(b'","seq":%d,"' % seq)  # near the end
                if there < 0 or f'"prev":"{head}","'.encode() not in line:
                    raise ValueError(f"entry {seq} does not follow the one before it")
                head, top = sha256(line).hexdigest(), sha256(b"\x00" + line).digest()
                while size & 1:
                    top, size = node(nodes.pop(), top), size >> 1
                nodes.append(top)
                if seq in self.roots:
                    root = reduce(lambda right, left: node(left, right), reversed(nodes))
                    demand(root == self.roots[seq], f"{seq} entries are not those of a checkpoint")
                yield seq, line, head
        demand((seq, head) == (self.size, self.manifest["head"]), f"{seq} entries, not {self.size}")

    def part(self) -> Iterator[Tuple[int, bytes, str]]:
        """A part of a trail: each entry by its proof (c2sp.org/tlog-proof)."""
        seq, note = 0, (self.folder / "checkpoints" / str(self.size)).read_text("utf-8")
        proofs = (self.folder / "proofs" / "inclusion.tlog-proofs").open(encoding="utf-8")
        with (self.folder / "entries.ndjson").open("rb") as lines, proofs:
            for raw in lines:
                demand(raw.endswith(b"\n"), f"the entry after no. {seq} is not a whole line")
                before, line = seq, raw[:-1]
                seq = json.loads(line)["seq"]
                proof = [text[:-1] for text in takewhile(str.strip, proofs)]
                path, leaf = hashes_in(proof[2:]), sha256(b"\x00" + line).digest()
                fits = proof[:2] == ["c2sp.org/tlog-proof@v1", f"index {seq - 1}"] and before < seq
                fits = fits and root_above(leaf, seq - 1, self.size, path) == self.last.root
                fits = fits and proofs.read(len(note)) == note
                demand(fits, f"entry {seq} is not proved by the checkpoint of {self.size} entries")
                yield seq, line, sha256(line).hexdigest()
            demand(not proofs.read(1), "a proof is there whose entry is missing")

    def contents(self) -> str:
        """Say what was checked."""
        if self.manifest["whole"]:
            return f"COMPLETE: entries 1 to {self.size}"
        part = f"PART: {self.count} of {self.size} entries; completeness not shown"
        return f"{part}; filters: {json.dumps(self.manifest['filters'], sort_keys=True)}"

    def backing(self) -> str:
        """Say who answers for it."""
        keys = ", ".join(sorted(self.last.signers)) or "no key that is known"
        whence = "came with it" if self.came_with_it else "you gave"
        said = f"Signed by {keys}, which {whence}.\n"
        for seq in self.known_alone:
            said += f"Entry {seq} is one that you know, which says nothing of the other entries.\n"
        if self.came_with_it and not self.is_known:
            return said + NO_KEY
        if not self.is_vouched():
            return said + OWN_WORD
        said += f"Vouched for from elsewhere: entries up to {self.vouched}."
        more = f" Entries {self.vouched + 1} to {self.size}: only this installation's own word."
        return said + (more if self.vouched < self.size else "")

    def is_vouched(self) -> bool:
        return (self.is_known or not self.came_with_it) and 0 < self.first <= self.vouched


def main() -> int:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--part", action="store_true")
    for names in (["--vkey"], ["--known"], ["--doc", "--correlation"]):
        parser.add_argument(*names, action="append", default=[])
    given = parser.parse_args()
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr] # a real stream
    try:
        trail = Trail(given.folder, given.vkey, set(given.known))
    except (CannotCheck, *FAULTS) as error:
        print(f"CANNOT BE CHECKED: {error}.")
        return 2
    try:
        trail.check(set(given.doc))
    except (CannotCheck, PermissionError) as error:
        print(f"CANNOT BE CHECKED: {error}.")
        return 2
    except FAULTS as error:
        print(f"BROKEN: {error}.")
        return 1
    print(f"{trail.contents()}.\n{trail.backing()}")
    if not trail.is_covered:
        print(f"CANNOT BE CHECKED: {UNSIGNED}")
        return 2
    if not (trail.manifest["whole"] or given.part):
        print("Give --part if you expect a part. For all entries, ask for an export of the whole.")
        return 4
    return 0 if trail.is_vouched() else 3


if __name__ == "__main__":
    raise SystemExit(main())
