"""An app whose release has migrations of both stages: what adds, and what takes away."""
