"""Metrics: functions of arrays or lists that return frozen values, without I/O or global state."""
