"""Defines the format of dates and times on all pages: in UTC, marked as UTC (E6(R3) 4.2.2(d))."""

DATE_FORMAT = "j M Y"
TIME_FORMAT = "H:i:s \\U\\T\\C"
DATETIME_FORMAT = "j M Y, H:i \\U\\T\\C"
SHORT_DATE_FORMAT = DATE_FORMAT
SHORT_DATETIME_FORMAT = DATETIME_FORMAT
# 02/03/2026 is not accepted, because it means another day in other countries. Forms show the first
# format.
DATE_INPUT_FORMATS = ["%Y-%m-%d", "%d %b %Y", "%d %B %Y"]
