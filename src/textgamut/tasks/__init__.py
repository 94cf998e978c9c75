"""Prompts and references of a task, and the texts to be measured."""
