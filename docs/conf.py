"""Configuration of Sphinx: `make docs` builds the documentation into docs/_build, which opens from disk."""

from __future__ import annotations

import sys
from pathlib import Path

import textgamut

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "textgamut"
author = "the authors of textgamut"
copyright = "the authors of textgamut"
version = release = textgamut.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "search_texts",  # docs/_ext: excerpts in the results of a search
    "reference",  # docs/_ext: what is generated from the code
    "api_types",
]
exclude_patterns = ["_build", "reference/generated"]
nitpicky = True

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
python_use_unqualified_type_names = True
add_module_names = False
toc_object_entries_show_parents = "hide"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
# Classes of other packages, and those of the configuration: reference/configuration.md describes the files.
nitpick_ignore_regex = [("py:.*", r"(?!textgamut\.).*"), ("py:.*", r"textgamut\.config\..*")]

copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = False

html_theme = "pydata_sphinx_theme"
html_title = f"textgamut {release}"
html_static_path = ["_static"]
html_css_files = ["textgamut.css"]
html_show_search_summary = (
    True  # from search_texts.js: browsers fetch no pages on a site that is opened from disk
)
html_show_sourcelink = False
html_copy_source = False
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system is
html_sidebars = {"index": [], "gallery": [], "changelog": []}
html_theme_options = {
    "navbar_end": ["theme-switcher"],
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
