"""Figures: as matplotlib figures that no global setting and no clock changes."""
