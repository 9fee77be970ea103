"""Estimators that are posteriors: recursive least squares with unknown noise and scale."""
