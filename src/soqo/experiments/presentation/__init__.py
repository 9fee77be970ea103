"""Present outcomes: figures in one style, tables, and the page of a report (extra ``lab``).

Importing this package does not import Matplotlib.
"""

from soqo._foundation.figure_style import house_style
from soqo.experiments.presentation._bounds_report import bounds_figure, format_bounds, save_bounds
from soqo.experiments.presentation._charts import Chart, Curve, Panel
from soqo.experiments.presentation._figures import draw_chart, regret_figure, sweep_figure
from soqo.experiments.presentation._html import read_resource
from soqo.experiments.presentation._page import render_page
from soqo.experiments.presentation._progress_page import render_progress, write_progress
from soqo.experiments.presentation._rendering import new_figure, render_svg, save_figure, write_atomically, write_csv
from soqo.experiments.presentation._report import ReportData, ReportFigure, figure_names, report_figures
from soqo.experiments.presentation._style import CAPTION_COLOR, policy_styles, sequential_colors

__all__ = [
    "CAPTION_COLOR",
    "Chart",
    "Curve",
    "Panel",
    "ReportData",
    "ReportFigure",
    "bounds_figure",
    "draw_chart",
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
    "sequential_colors",
    "sweep_figure",
    "write_atomically",
    "write_csv",
    "write_progress",
]
