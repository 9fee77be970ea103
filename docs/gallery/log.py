"""A log of a plant, and what GLIDE expected of each reading while it learned from the log."""

import soqo

log = soqo.Log.read("examples/plant_log.csv")

theme = "light"  # or "dark"
figure = log.plot(theme=theme)
