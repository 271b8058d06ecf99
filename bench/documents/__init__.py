"""Documents to measure with: generated, signed, scanned and hostile ones, and training examples."""
