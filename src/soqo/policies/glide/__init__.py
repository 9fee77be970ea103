"""GLIDE, the policy that learns from the movement that happens anyway."""

from soqo.policies.glide._meter_faults import MeterFaults
from soqo.policies.glide._policy import GLIDE

__all__ = ["GLIDE", "MeterFaults"]
