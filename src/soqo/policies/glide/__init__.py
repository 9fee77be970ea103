"""GLIDE and its parts: outliers and change points, probes, and the predictable part of the steps of v."""

from soqo.policies.glide._policy import GLIDE

__all__ = ["GLIDE"]
