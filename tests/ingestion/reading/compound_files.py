"""Writes compound files of Microsoft ([MS-CFB]) and messages of Outlook ([MS-OXMSG]) for tests.

No library that may be used writes them. All small streams are in the mini stream, and the entries
of a storage are a list instead of a balanced tree, which every reader accepts.
"""

import struct
from itertools import pairwise

SECTOR, MINI_SECTOR, CUTOFF = 512, 64, 4096
END, FREE, NONE = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFF
STREAM, STORAGE, ROOT = 2, 1, 5
UNICODE, BINARY, INTEGER, MESSAGE = 0x001F, 0x0102, 0x0003, 0x000D


def write_compound_file(tree):  # noqa: PLR0915 - a file format in one place
    """Return a compound file. `tree` maps names to bytes (streams) or to such dicts (storages)."""
    entries, mini, sectors, fat = [], b"", [], []

    def add_sectors(content):
        start = len(sectors)
        count = max(1, -(-len(content) // SECTOR))
        sectors.extend(
            content[SECTOR * n : SECTOR * (n + 1)].ljust(SECTOR, b"\0") for n in range(count)
        )
        fat.extend([*range(start + 1, start + count), END])
        return start

    mini_fat = []

    def add_entry(name, kind, content=b"", children=None):
        nonlocal mini
        number, start = len(entries), END
        entries.append(None)
        if kind == STREAM and len(content) < CUTOFF:
            start, count = len(mini) // MINI_SECTOR, max(1, -(-len(content) // MINI_SECTOR))
            mini += content.ljust(count * MINI_SECTOR, b"\0")
            mini_fat.extend([*range(start + 1, start + count), END])
        elif kind == STREAM:
            start = add_sectors(content)
        keys = [
            add_entry(each, STORAGE, children=inner)
            if isinstance(inner, dict)
            else add_entry(each, STREAM, inner)
            for each, inner in (children or {}).items()
        ]
        for key, following in pairwise(keys):
            entries[key]["right"] = following
        entries[number] = {
            "name": name, "kind": kind, "right": NONE, "child": keys[0] if keys else NONE,
            "start": start, "size": len(content),
        }  # fmt: skip
        return number

    add_entry("Root Entry", ROOT, children=tree)
    root = entries[0]
    root["start"], root["size"] = add_sectors(mini), len(mini)
    mini_start = add_sectors(struct.pack(f"<{len(mini_fat)}I", *mini_fat).ljust(SECTOR, b"\xff"))
    while len(entries) % 4:
        entries.append({"name": "", "kind": 0, "right": NONE, "child": NONE, "start": 0, "size": 0})
    packed = b"".join(map(_pack_entry, entries))
    directory = add_sectors(packed)
    fat_sectors = -(-(len(fat) + 8) // (SECTOR // 4))
    fat_start = len(sectors)
    fat.extend([0xFFFFFFFD] * fat_sectors)
    table = struct.pack(f"<{len(fat)}I", *fat).ljust(fat_sectors * SECTOR, b"\xff")
    places = [fat_start + n for n in range(fat_sectors)]
    header = struct.pack(
        "<8s16sHHHHH6sIIIIIIIIII",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"", 0x3E, 3, 0xFFFE, 9, 6, b"", 0, fat_sectors,
        directory, 0, CUTOFF, mini_start, -(-len(mini_fat) * 4 // SECTOR) or 1, END, 0, 0,
    )[:76]  # fmt: skip
    header += struct.pack("<109I", *places, *[FREE] * (109 - len(places)))
    return header + b"".join(sectors) + table


def _pack_entry(entry):
    name = entry["name"].encode("utf-16-le")
    length = len(name) + 2 if entry["name"] else 0
    return struct.pack(
        "<64sHBBIII16sIQQIQ",
        name, length, entry["kind"], 1, NONE, entry["right"], entry["child"], b"", 0, 0, 0,
        entry["start"], entry["size"],
    )  # fmt: skip


def make_outlook_message(
    subject, body, attachments=(), *, html=b"", rich_text=b"", is_embedded=False
):
    """Return the tree of a message. Attachments are (name, bytes) or (name, tree of a message)."""
    head = struct.pack("<8x4I8x", 0, len(attachments), 0, len(attachments))
    properties = {
        0x001A: (UNICODE, "IPM.Note"),
        0x0037: (UNICODE, subject),
        0x1000: (UNICODE, body),
        0x0C1A: (UNICODE, "IRB office"),
        0x340D: (INTEGER, 0x40000),
        0x3FDE: (INTEGER, 65001),
    }
    if html:
        properties[0x1013] = (BINARY, html)
    if rich_text:
        properties[0x1009] = (BINARY, rich_text)
    tree = _make_storage(head[:24] if is_embedded else head, properties)
    for number, (name, content) in enumerate(attachments):
        own = {0x3707: (UNICODE, name), 0x3705: (INTEGER, 5 if isinstance(content, dict) else 1)}
        if not isinstance(content, dict):
            own[0x3701] = (BINARY, content)
        storage = _make_storage(b"\0" * 8, own)
        if isinstance(content, dict):
            storage["__substg1.0_3701000D"] = content
        tree[f"__attach_version1.0_#{number:08X}"] = storage
    return tree


def _make_storage(head, properties):
    stream, tree = head, {}
    for pid, (kind, value) in properties.items():
        if kind == INTEGER:
            stream += struct.pack("<HHIIi", kind, pid, 6, value, 0)
            continue
        content = value.encode("utf-16-le") if kind == UNICODE else value
        size = len(content) + (2 if kind == UNICODE else 0)
        stream += struct.pack("<HHIII", kind, pid, 6, size, 0)
        tree[f"__substg1.0_{pid:04X}{kind:04X}"] = content
    tree["__properties_version1.0"] = stream
    return tree
