"""Estimators of A from readings of the hitting cost."""
