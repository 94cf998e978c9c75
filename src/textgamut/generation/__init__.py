"""Generation: prompts -> texts, the same whatever the batch, the machine or the moment of a crash."""

REVISION = 2
"""Raised when the same settings give other texts."""
