"""Sources: fetch pinned and verified data, and query web services."""
