"""Registered official forms: their blank print and their boxes, found again on a page.

`catalogue` reads the descriptions in the folder `registered`, one file for each edition of a form.
`registration` recognises a page by its print and aligns it with the blank form. `measurement`
subtracts the print and measures each box. Judgement is left to `ingestion.rules.forms`.
"""
