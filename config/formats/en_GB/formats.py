"""How dates and times are shown everywhere: in UTC, and said so (E6(R3) 4.2.2(d))."""

DATE_FORMAT = "j M Y"
TIME_FORMAT = "H:i:s \\U\\T\\C"
DATETIME_FORMAT = "j M Y, H:i \\U\\T\\C"
SHORT_DATE_FORMAT = DATE_FORMAT
SHORT_DATETIME_FORMAT = DATETIME_FORMAT
# Not 02/03/2026, which is another day in other countries. The first is what forms show.
DATE_INPUT_FORMATS = ["%Y-%m-%d", "%d %b %Y", "%d %B %Y"]
