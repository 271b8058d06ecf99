"""Judges registered forms: the state and the value of each box, and the edition.

The reading recognises the pages of registered forms and measures their boxes
(`ingestion.reading.forms`). The rules here are pure functions of these measurements.
"""
