"""Numbers to decisions: resamples, tests, intervals and verdicts."""
