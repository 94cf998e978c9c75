"""Entries of the registries, a module for each kind."""
