"""Datasets: bytes to texts, a module for each format."""
