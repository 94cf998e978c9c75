"""Metrics: arrays or lists in, frozen values out; none prints, touches a file or keeps global state."""
