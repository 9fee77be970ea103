"""The mathematical model: the costs and their coordinates, the gains, and the optimal player for a known A."""
