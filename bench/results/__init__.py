"""Stores and displays results: rows with their ratios, the report, its charts, and the machine."""
