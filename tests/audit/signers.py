"""A key that signs checkpoints, and a write-once place that keeps them: what attacks meet."""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.utils import timezone

from audit.ledger import chain
from audit.ledger.merkle_tree import Frontier, hash_leaf
from audit.models import Entry
from audit.signing import anchors, keys, signed_note
from audit.signing.places.port import AnchoredNote, AnchorProof
from tests.audit.support import sql, triggers_removed

TRAIL = "siteledger"


class Elsewhere:
    """An independent place in memory: what an attacker of this installation cannot reach."""

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


class Notary:
    """Signs the ledger as it is; `place` is what an attacker of the database cannot reach."""

    def __init__(self, monkeypatch=None):
        self.signer = signed_note.Signer(TRAIL, Ed25519PrivateKey.generate())
        self.elsewhere = Elsewhere()
        self.place = self.elsewhere.notes
        if monkeypatch:
            monkeypatch.setattr(keys, "verifiers", self.verifiers)
            monkeypatch.setattr(anchors, "configured_anchors", lambda: [self.elsewhere])

    def verifiers(self):
        return [self.signer.verifier]

    def sign(self, *, anchored=True, at=None):
        """A checkpoint of all entries that are there."""
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
        self.place[size] = note
        sql(
            "INSERT INTO audit_receipt (checkpoint_id, anchor, place, proof, anchored_at)"
            " VALUES (%s, 'file', '/anchors', '', %s)",
            *(size, str(timezone.now())),
        )


def read_back(after=0):
    """What all configured places hold."""
    return [held for place in anchors.configured_anchors() for held in place.read_back(after)]


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
            hash_ = chain.digest(body)
            sql(
                "UPDATE audit_entry SET body = %s, hash = %s, prev = %s, site = %s WHERE seq = %s",
                *(body, hash_, prev, site, entry.seq),
            )
            prev = hash_


def cut_off(after):
    """The end of the trail goes, and what was signed of it, as the owner of the tables could."""
    with triggers_removed():
        sql("DELETE FROM audit_entrydetail WHERE entry_id > %s", after)
        sql("DELETE FROM audit_receipt WHERE checkpoint_id > %s", after)
        sql("DELETE FROM audit_checkpoint WHERE size > %s", after)
        sql("DELETE FROM audit_entry WHERE seq > %s", after)


def forget_checks():
    """What the checks themselves had noted goes as well."""
    with triggers_removed():
        sql("DELETE FROM audit_checkrun")
