"""Models: devices, checkpoints and the loading of weights."""
