"""Policies: the contract that each of them keeps, the paper's, the baselines, ours, and wrappers around any of them."""

from soqo.policies._base import Policy, State
from soqo.policies._known import FTM, LAI, ROBD
from soqo.policies._learners import OAL, POL
from soqo.policies._scale import HySCaLE, Phase, SCaLE
from soqo.policies._wrappers import Limited, Weighted
from soqo.policies.glide import GLIDE

__all__ = [
    "FTM",
    "GLIDE",
    "LAI",
    "OAL",
    "POL",
    "ROBD",
    "HySCaLE",
    "Limited",
    "Phase",
    "Policy",
    "SCaLE",
    "State",
    "Weighted",
]
