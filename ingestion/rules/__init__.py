"""Document types, finding codes, field schemas and checks: versioned data and pure functions."""

# Stamped on every decision; raise it with every change of a rule or a sentence.
VERSION = "2026.11.8"
