"""Verifies the ledger: the chain, its checkpoints and anchors, and the rows that it describes."""
