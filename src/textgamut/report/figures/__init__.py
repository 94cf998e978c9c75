"""Figures, as matplotlib figures that depend on no global setting and no clock."""
