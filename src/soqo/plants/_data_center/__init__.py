"""The data center: room, load, the solver for the best set points, and the plant that they make."""
