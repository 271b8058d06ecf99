"""Provides what belongs to no app: durable writes, CSV, PDF layout and strict JSON."""
