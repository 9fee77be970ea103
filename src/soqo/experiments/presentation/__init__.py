"""Present outcomes: figures in one style, tables, and the page of a report (extra ``lab``).

Importing this package does not import Matplotlib.
"""

from soqo._foundation.figure_style import house_style
from soqo.experiments.presentation._axes import scale_regret_axes
from soqo.experiments.presentation._bounds_report import bounds_figure, format_bounds, save_bounds
from soqo.experiments.presentation._curvature_figure import curvature_figure
from soqo.experiments.presentation._figures import regret_figure, sweep_figure
from soqo.experiments.presentation._page import read_resource, render_page
from soqo.experiments.presentation._progress_page import render_progress, write_progress
from soqo.experiments.presentation._rendering import new_figure, render_svg, save_figure, write_atomically, write_csv
from soqo.experiments.presentation._report_data import ReportData
from soqo.experiments.presentation._report_figures import ReportFigure, figure_names, report_figures
from soqo.experiments.presentation._style import CAPTION_COLOR, policy_styles, sequential_colors

__all__ = [
    "CAPTION_COLOR",
    "ReportData",
    "ReportFigure",
    "bounds_figure",
    "curvature_figure",
    "figure_names",
    "format_bounds",
    "house_style",
    "new_figure",
    "policy_styles",
    "read_resource",
    "regret_figure",
    "render_page",
    "render_progress",
    "render_svg",
    "report_figures",
    "save_bounds",
    "save_figure",
    "scale_regret_axes",
    "sequential_colors",
    "sweep_figure",
    "write_atomically",
    "write_csv",
    "write_progress",
]
