"""Sphinx configuration.

Nothing is downloaded: formulas become MathML.  On Read the Docs, pages are not run,
and names of PyMC, ArviZ and scikit-learn lead to their documentation.
"""

import os
import sys
from importlib import metadata
from pathlib import Path

from pymc_nrm.kernels.kernel_cache import package_fingerprint

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "pymc_nrm"
author = "the pymc_nrm contributors"
project_copyright = author
try:
    version = release = metadata.version("pymc-nrm")
except metadata.PackageNotFoundError:  # a source tree that is not installed
    version = release = ""

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_design",
    # Of this folder, see _extensions.
    "mathml",
    "reference_pages",
    "gallery_pages",
    "benchmark_page",
    "coverage_check",
    "written_outputs",
    "first_page",
    "sitemap",
]
_IS_HOSTED = os.environ.get("READTHEDOCS") == "True"
if _IS_HOSTED:
    extensions.append("sphinx.ext.intersphinx")
intersphinx_mapping = {
    "arviz": ("https://python.arviz.org/en/stable", None),
    "numpy": ("https://numpy.org/doc/stable", None),
    "pymc": ("https://www.pymc.io/projects/docs/en/stable", None),
    "sklearn": ("https://scikit-learn.org/stable", None),
    "xarray": ("https://docs.xarray.dev/en/stable", None),
}
exclude_patterns = ["_build", "_templates", "**.ipynb_checkpoints"]
templates_path = ["_templates"]

html_theme = "furo"
html_title = "pymc_nrm"
html_baseurl = os.environ.get(
    "READTHEDOCS_CANONICAL_URL", "https://pymc-nrm.readthedocs.io/en/latest/"
)
html_static_path = ["_static"]
html_css_files = ["pymc_nrm.css"]
html_logo = html_favicon = "_static/logo.svg"
html_copy_source = False
html_show_sourcelink = False

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# Pages with code are run; what they print is kept until a source file changes.
# The host runs nothing: pages show the outputs that are written into them.
nb_execution_mode = "off" if _IS_HOSTED else "cache"
_EXECUTED = Path(__file__).parent / "_build" / "executed"
nb_execution_cache_path = str(_EXECUTED / package_fingerprint()[:16])
# Notebooks show the outputs that _extensions/run_notebooks.py has written into them.
nb_execution_excludepatterns = ["notebooks/*"]
nb_execution_timeout = 900
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True
# Without an execution (`-D nb_execution_mode=off`) code is not coloured.
suppress_warnings = ["myst-nb.lexer"]

default_role = "code"  # single backticks in docstrings
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autoclass_content = "class"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_param = False

html_math_renderer = "mathml"
