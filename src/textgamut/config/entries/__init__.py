"""Entries of the registries, one module per kind."""
