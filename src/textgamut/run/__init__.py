"""What runs jobs: scripts, records, reruns, companions."""
