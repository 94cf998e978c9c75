"""Sanity checks: every metric of two sets of texts in the same situations, with a known right answer."""
