"""Helpers for tests of attacks: a signer of checkpoints, an independent anchor, and tampering."""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.utils import timezone

from audit.ledger import chain
from audit.ledger.merkle_tree import Frontier, hash_leaf
from audit.models import Entry
from audit.signing import anchors, keys, signed_note
from audit.signing.places.port import AnchoredNote, AnchorProof
from tests.audit.support import sql, triggers_removed

TRAIL = "siteledger"


class IndependentAnchor:
    """An anchor in memory that counts as independent: attacks of these tests cannot change it."""

    name, address, keeps_notes, wants_all = "file", "/anchors", True, True

    def __init__(self):
        self.notes = {}

    def put(self, origin, size, note):
        self.notes[size] = note
        return AnchorProof(self.address)

    def read_back(self, after):
        return [
            AnchoredNote(self.address, note)
            for size, note in sorted(self.notes.items())
            if size > after
        ]

    def weakness(self):
        return ""


class CheckpointSigner:
    """Signs the entries of the ledger. `anchored_notes` has the notes of its anchor, by size."""

    def __init__(self, monkeypatch=None):
        self.signer = signed_note.Signer(TRAIL, Ed25519PrivateKey.generate())
        self.independent_anchor = IndependentAnchor()
        self.anchored_notes = self.independent_anchor.notes
        if monkeypatch:
            monkeypatch.setattr(keys, "read_verifiers", self.verifiers)
            monkeypatch.setattr(
                anchors, "list_configured_anchors", lambda: [self.independent_anchor]
            )

    def verifiers(self):
        return [self.signer.verifier]

    def sign(self, *, anchored=True, at=None):
        """Sign a checkpoint of all entries and return its size."""
        tree = Frontier()
        for line in Entry.objects.order_by("seq").values_list("body", flat=True):
            tree.add(hash_leaf(line))
        head = Entry.objects.get(seq=tree.size).hash
        note = signed_note.sign_note(
            signed_note.CheckpointText(TRAIL, tree.size, tree.root()).text, [self.signer]
        )
        sql(
            "INSERT INTO audit_checkpoint (size, head, root, frontier, note, created_at)"
            " VALUES (%s, %s, %s, %s, %s, %s)",
            *(tree.size, head, tree.root().hex(), tree.hex(), note, str(at or timezone.now())),
        )
        if anchored:
            self.anchor(tree.size, note)
        return tree.size

    def anchor(self, size, note):
        self.anchored_notes[size] = note
        sql(
            "INSERT INTO audit_receipt (checkpoint_id, anchor, place, proof, anchored_at)"
            " VALUES (%s, 'file', '/anchors', '', %s)",
            *(size, str(timezone.now())),
        )


def read_back(after=0):
    """Return the notes of all configured anchors for checkpoints of more than `after` entries."""
    return [note for place in anchors.list_configured_anchors() for note in place.read_back(after)]


def relink(seq, old, new):
    """Edit one entry and renew its hash and every later one, as the owner of the tables could."""
    with triggers_removed():
        prev = ""
        for entry in Entry.objects.filter(seq__gte=seq).order_by("seq"):
            body, site = entry.body, entry.site
            if entry.seq == seq:
                body, site = body.replace(old, new), site.replace(old, new)
            prev = prev or entry.prev
            body = body.replace(entry.prev, prev)
            hash_ = chain.compute_digest(body)
            sql(
                "UPDATE audit_entry SET body = %s, hash = %s, prev = %s, site = %s WHERE seq = %s",
                *(body, hash_, prev, site, entry.seq),
            )
            prev = hash_


def remove_entries_after(after):
    """Remove later entries and their checkpoints, as the owner of the tables could."""
    with triggers_removed():
        sql("DELETE FROM audit_entrydetail WHERE entry_id > %s", after)
        sql("DELETE FROM audit_receipt WHERE checkpoint_id > %s", after)
        sql("DELETE FROM audit_checkpoint WHERE size > %s", after)
        sql("DELETE FROM audit_entry WHERE seq > %s", after)


def delete_check_runs():
    """Delete all results of verification, as the owner of the tables could."""
    with triggers_removed():
        sql("DELETE FROM audit_checkrun")
