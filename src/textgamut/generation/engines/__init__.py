"""Engines: what generates, be it transformers, vLLM or a server."""
