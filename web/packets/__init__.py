"""Serves the pages of packets: upload, list and progress."""
