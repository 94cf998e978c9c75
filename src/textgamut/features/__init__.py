"""Features: embed texts as vectors, and reduce these vectors."""
