"""Scores of a cell as rows of the tidy table, computed from features or texts; one module per family."""
