"""Configuration: what users write, as validated models."""
