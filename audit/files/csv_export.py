"""Cells of tables that people open in a spreadsheet."""

# What a spreadsheet takes for a formula (owasp.org/www-community/attacks/CSV_Injection), and the
# apostrophe itself, so that taking one away always gives back what was there.
_MARKED = ("=", "+", "-", "@", "\t", "\r", "'")


def escape_formula(cell: object) -> str:
    """With an apostrophe in front where a spreadsheet would run it, and not show it."""
    text = str(cell)
    return f"'{text}" if text.startswith(_MARKED) else text
