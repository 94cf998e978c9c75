"""Features: texts to vectors."""
