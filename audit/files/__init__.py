"""Files that belong to no app: durable writes, CSV, PDF layout and strict JSON."""
