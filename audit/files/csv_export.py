"""Escapes cells of tables that people open in a spreadsheet program."""

# Characters with which a spreadsheet program takes a cell for a formula
# (owasp.org/www-community/attacks/CSV_Injection). The apostrophe is one of them, so that removing
# the first apostrophe always restores the original text.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "'")


def escape_formula(cell: object) -> str:
    """Return the cell as text, with an apostrophe before it if it could run as a formula."""
    text = str(cell)
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
