"""Models: everything that loads weights."""
