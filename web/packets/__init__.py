"""Pages of packets: upload, list and progress."""
