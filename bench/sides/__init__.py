"""One side of a comparison each: ours, or what it is compared with. Benchmarks start them."""
