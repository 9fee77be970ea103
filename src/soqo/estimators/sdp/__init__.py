"""Estimators that are semidefinite programs, solved by one interior-point method."""
