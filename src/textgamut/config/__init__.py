"""Configuration: what users write, as validated models; ``defaults/`` holds the registries that ship."""
