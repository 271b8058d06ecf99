"""Finds the print and the boxes of registered official forms on a page, and measures them.

`catalogue` reads the descriptions in the folder `registered`, one file for each edition of a form.
`registration` recognises a page by its print and aligns it with the blank form. `measurement`
subtracts the print and measures each box. Judgement is left to `ingestion.rules.forms`.
"""
