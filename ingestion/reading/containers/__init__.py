"""Opens containers: email messages, ZIP archives and PDF portfolios. It runs in parser processes.

Nothing that a container says about itself is believed: sizes are counted while bytes are written,
names are never used as paths, and every limit is checked before the next entry is opened.
"""
