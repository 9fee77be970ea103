"""Settings of the documentation site, which `make docs` builds; docs/_extensions generates some of its pages."""

import logging
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

import soqo  # noqa: E402  # after the path of the extensions

project = "soqo"
author = "The soqo maintainers"
copyright = "the soqo maintainers"  # noqa: A001  # the name that Sphinx expects
version = release = soqo.__version__

extensions = [
    "sphinx.ext.autodoc",
    "numpydoc",
    "myst_parser",
    "mathml",
    "plain_docstrings",
    "api_pages",
    "command_pages",
    "http_pages",
    "example_pages",
    "gallery_pages",
]
exclude_patterns = ["_extensions", "_static"]

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"soqo {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#6a3d9a", "color-brand-content": "#6a3d9a"},
    "dark_css_variables": {"color-brand-primary": "#c9a7f0", "color-brand-content": "#c9a7f0"},
}
html_math_renderer = "mathml"

default_role = "py:obj"
add_module_names = False
python_use_unqualified_type_names = True
maximum_signature_line_length = 80
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_type_aliases = {name: f"soqo.typing.{name}" for name in soqo.typing.__all__}
numpydoc_show_class_members = False
numpydoc_validation_checks: set[str] = set()  # tests/test_docstrings.py checks them

# A place in a list of pages for pages that may come is no mistake; the warning has no type by which to suppress it.
logging.getLogger("sphinx.sphinx.directives.other").addFilter(
    lambda record: getattr(record, "subtype", None) != "empty_glob"
)


def setup(app: Any) -> None:
    """Drop the blank line that ends an example, which doctest needs and a reader does not."""
    app.connect("source-read", _drop_last_blank_lines)


def _drop_last_blank_lines(app: Any, name: str, source: list[str]) -> None:  # noqa: ARG001  # what Sphinx passes
    source[0] = re.sub(r"(```python\n>>> (?:(?!```).)*?)\n\n```", r"\1\n```", source[0], flags=re.DOTALL)
