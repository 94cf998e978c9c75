"""Tasks: texts to prompts and references, and what is measured of an answer."""
