"""Redraws blank forms of the US government whose files we do not have.

Wording, numbers and order of the boxes follow the forms; the places are ours, and
docs/registered-forms.md says what follows from that. `python -m samples.redrawn` writes their
descriptions.
"""
