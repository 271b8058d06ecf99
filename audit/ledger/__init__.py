"""Keeps the ledger: entries linked into a hash chain, appended once and never changed."""
