"""Matplotlib figures that depend neither on global settings nor on the time."""
