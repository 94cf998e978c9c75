"""Engines that generate texts: transformers, vLLM, or a server."""
