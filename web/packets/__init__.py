"""Pages of packets: upload, list, progress."""
