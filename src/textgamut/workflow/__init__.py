"""Paths, inputs, settings and resources of the Snakemake rules."""
