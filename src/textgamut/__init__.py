"""textgamut measures open-ended text generation as distributions.

*Precision*: how much of what a model writes lies inside the gamut of human text. *Recall*: how much of
that gamut the model reaches. The science lives here; which files it is applied to stands in ``workflow/``.
"""

__version__ = "0.1.0"
