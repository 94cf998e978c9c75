"""Configuration files as validated models; ``defaults/`` contains the shipped registries."""
