"""Checks an exported audit trail: python3 verify_trail.py FOLDER --vkey KEY --known HEAD .

KEY is a public key NAME+ID+KEY, or a file with keys; HEAD the hash of an entry or of manifest.json,
or the file of a checkpoint. Take both, and this file, from somewhere else than FOLDER. --doc ID and
--correlation ID print timelines. Exit codes: 0 it holds; 1 it does not; 2 it cannot be checked; 3
it agrees with itself, but nothing from outside was given to compare it with.
"""

import argparse
import json
import re
from base64 import b64decode
from functools import partial, reduce
from hashlib import sha256, sha512
from itertools import takewhile
from pathlib import Path
from typing import Any, Iterator, List, Set, Tuple

VERDICTS = ("HOLDS", "DOES NOT HOLD", "CANNOT BE CHECKED", "HOLDS IN ITSELF, compared with nothing")
REDACTED = b'"event":"ledger.detail_redacted"'
P, ORDER = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
BASE = (4 * pow(5, P - 2, P) % P).to_bytes(32, "little")


def demand(holds: object, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


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


def node(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01" + left + right).digest()


def root_above(leaf: bytes, index: int, size: int, path: List[bytes]) -> bytes:
    """The root over `size` leaves, from one of them and the nodes beside its way (RFC 6962)."""
    if size <= 1 or not path:
        return leaf if (index, size, path) == (0, 1, []) else b""
    left = 1 << (size - 1).bit_length() - 1  # leaves under the left half: a power of two
    if index < left:
        return node(root_above(leaf, index, left, path[:-1]), path[-1])
    return node(path[-1], root_above(leaf, index - left, size - left, path[:-1]))


class Trail:
    def __init__(self, folder: Path, vkeys: List[str], known: Set[str]) -> None:
        raw = (folder / "manifest.json").read_bytes()
        self.folder, self.manifest, self.keys, self.missing = folder, json.loads(raw), {}, set()
        for given in vkeys or map(str, folder.glob("vkeys.txt")):
            text = Path(given).read_text("utf-8") if Path(given).is_file() else given
            for name, id_, encoded in re.findall(r"([^\s+]+)\+([0-9a-f]{8})\+(\S+)", text):
                key = b64decode(encoded)
                if sha256(f"{name}\n".encode() + key).hexdigest()[:8] == id_ and key[0] == 1:
                    self.keys[f"{name}+{id_}"] = key[1:]  # 1: Ed25519; other kinds are passed over
        demand(self.keys or not vkeys, f"no key of the form NAME+ID+KEY: {vkeys}")
        self.unseen = known - {sha256(raw).hexdigest()}
        self.kept = {k: self.checkpoint(Path(k)) for k in known if not re.fullmatch(r"\w{64}", k)}

    def checkpoint(self, path: Path) -> Tuple[int, bytes, List[str]]:
        """How many entries, the root over them, and who signed it (c2sp.org/tlog-checkpoint)."""
        text, _, signatures = path.read_bytes().rpartition(b"\n\n")
        size, root, signers = int(text.split(b"\n")[1]), b64decode(text.split(b"\n")[2]), []
        for name, encoded in re.findall(r"\u2014 (\S+) (\S+)", signatures.decode()):
            key, signature = f"{name}+{b64decode(encoded)[:4].hex()}", b64decode(encoded)[4:]
            if key in self.keys:
                demand(is_signed(self.keys[key], text + b"\n", signature), f"{key} did not sign it")
                signers.append(key)
        return size, root, signers

    def check_files(self) -> None:
        for name, expected in self.manifest["files"].items():
            digest = sha256()
            with (self.folder / name).open("rb") as file:
                for block in iter(partial(file.read, 65536), b""):
                    digest.update(block)
            demand(digest.hexdigest() == expected, f"{name} was changed: the manifest has another")
        heads = [self.checkpoint(p) for p in self.folder.glob("checkpoints/*") if p.name.isdigit()]
        self.size, (_, self.root, self.signers) = self.manifest["size"], max(heads)
        demand(self.signers or not self.keys, f"{self.size} entries: not signed by a key you know")
        self.roots = {self.size: self.root}
        for size, root, _ in [*heads, *self.kept.values()]:
            fits = 0 < size <= self.size and self.roots.setdefault(size, root) == root
            demand(fits, f"{size} entries were signed that are not those of this trail")
        sizes = self.roots if self.manifest["whole"] else [self.size]  # that are compared here
        self.unseen -= {name for name, head in self.kept.items() if head[0] in sizes}

    def check_entries(self, asked: Set[str]) -> None:
        with (self.folder / "details.ndjson").open("rb") as details:
            self.details = map(json.loads, details)
            self.detail = next(self.details, None)
            for seq, line, hash_ in self.all() if self.manifest["whole"] else self.part():
                self.unseen.discard(hash_)
                if b'"detail_commit":"",' not in line or REDACTED in line:
                    self.check_detail(seq, line)
                e = json.loads(line) if asked else {}
                if e and asked & {e.get("doc_id"), e.get("correlation_id")}:
                    print(seq, e["recorded_at"], e["event"], e["to"], e["code"], e["actor"], hash_)
        lost = f"details that are missing: {self.missing}, or out of place: {self.detail}"
        demand(not (self.missing or self.detail), lost)

    def check_detail(self, seq: int, line: bytes) -> None:
        commit = line.partition(b'"detail_commit":"')[2][:64].decode()
        if self.detail and self.detail["seq"] == seq:
            opened = bytes.fromhex(self.detail["salt"]) + self.detail["detail"].encode()
            demand(sha256(opened).hexdigest() == commit, f"entry {seq}: its detail was changed")
            self.detail = next(self.details, None)
        elif commit[:1] != '"':
            self.missing.add(f"entry:{seq}")
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
            for line in (raw[:-1] for raw in lines):
                before, seq = seq, json.loads(line)["seq"]
                path = [b64decode(hash_) for hash_ in [*takewhile(str.strip, proofs)][2:]]
                root = root_above(sha256(b"\x00" + line).digest(), seq - 1, self.size, path)
                fits = before < seq and root == self.root and proofs.read(len(note)) == note
                demand(fits, f"entry {seq} is not proved by the checkpoint of {self.size} entries")
                yield seq, line, sha256(line).hexdigest()
            demand(not proofs.read(1), "a proof is there whose entry is missing")


def main() -> int:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("folder", type=Path)
    for names in (["--vkey"], ["--known"], ["--doc", "--correlation"]):
        parser.add_argument(*names, action="append", default=[])
    given, code = parser.parse_args(), 2
    try:
        trail, code = Trail(given.folder, given.vkey, set(given.known)), 1
        trail.check_files()
        trail.check_entries(set(given.doc))
        code = 1 if trail.manifest["whole"] else 2
        demand(not trail.unseen, f"what you know is not among its entries: {trail.unseen}")
        code = 0 if given.vkey or given.known else 3
        why = f"{trail.size} entries, signed by {trail.signers or 'no key that is known'}"
    except (AttributeError, LookupError, OSError, TypeError, ValueError) as error:
        code, why = 2 if isinstance(error, PermissionError) else code, str(error)
    print(f"{VERDICTS[code]}: {why}.")
    return code


if __name__ == "__main__":
    raise SystemExit(main())
