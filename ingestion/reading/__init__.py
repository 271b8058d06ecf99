"""Reads files: from bytes to pages, text, form values, marks and signatures.

This package knows no Django and no rules of documents. `results` defines what a reading contains,
`tasks` has the functions that run in parser processes, and `processes.pool` distributes documents
over these processes.
"""
