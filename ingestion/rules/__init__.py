"""Defines document types, finding codes, field schemas and checks: data and pure functions."""

# Stored with every decision. Raise it with every change of a rule or a message.
VERSION = "2026.12.22"
