"""The workflow: everything that its rules ask."""
