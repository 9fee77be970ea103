"""Fleets: many live plants of one kind, steered as one batch."""
