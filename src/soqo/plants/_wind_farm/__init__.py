"""The wind farm: turbine, wake models, wind, the table of headings, and the plant that they make."""
