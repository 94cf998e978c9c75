"""Sources: bytes from where they are, pinned and checked."""
