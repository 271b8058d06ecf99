"""Signing the ledger: keys, checkpoints, anchors, and when they are made."""
