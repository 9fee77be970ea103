"""Simulation: sample paths, policies that play them, their costs and regret."""
