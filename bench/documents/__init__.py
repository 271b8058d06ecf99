"""Makes documents to measure with: generated, signed, scanned, hostile, and training examples."""
