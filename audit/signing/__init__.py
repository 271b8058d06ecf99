"""Signs the ledger: keys, checkpoints, anchors, and the times at which they are made."""
