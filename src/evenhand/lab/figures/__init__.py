"""Everything that is drawn: charts as SVG text with colours by role, light and dark, and grids of samples."""

from ._dumbbell import dumbbell
from ._heat_map import heat_map
from ._of_reports import (
    frontiers,
    pair_plots,
    parallel,
    parallels,
    rate_controls,
    rate_distortions,
    rate_points,
)
from ._pair_plot import pair_plot
from ._parallel import parallel_coordinates
from ._rate_control import rate_control
from ._rate_distortion import rate_distortion
from ._sample_grid import sample_grid
from ._stacked_areas import Band, stacked_areas
from ._svg import chart_css, legal, number

__all__ = [
    "Band",
    "chart_css",
    "dumbbell",
    "frontiers",
    "heat_map",
    "legal",
    "number",
    "pair_plot",
    "pair_plots",
    "parallel",
    "parallel_coordinates",
    "parallels",
    "rate_control",
    "rate_controls",
    "rate_distortion",
    "rate_distortions",
    "rate_points",
    "sample_grid",
    "stacked_areas",
]
