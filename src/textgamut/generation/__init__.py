"""Generation: continue prompts, reproducibly across batch sizes, machines and restarts."""

REVISION = 3
"""Increase when the same settings produce different samples."""
