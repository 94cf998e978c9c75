"""Generation: continue prompts, reproducibly across batch sizes, machines and restarts."""

REVISION = 2
"""Increase when the same settings produce different texts."""
