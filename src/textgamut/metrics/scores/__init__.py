"""Scores of a cell: features or texts to rows of the tidy table, a module for each family."""
