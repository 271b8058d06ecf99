"""Bytes to pages, text, form values and marks. No Django, no rules, no event loop of its own.

What a reading is made of is in `facts`; what runs in the pool's children is in
the stage modules (`sniff`, `probe`, `ocr`, `merge`); the pool is in `pool`.
"""
