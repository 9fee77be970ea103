"""Policies: the contract that each of them keeps, the paper's, the baselines, ours, and wrappers around any of them."""

from soqo._foundation.random_streams import draw_per_run
from soqo._storage.registry import register
from soqo.policies._base import Policy, State
from soqo.policies._for_plant import wrap_for_plant
from soqo.policies._ftm import FTM
from soqo.policies._gradient_learners import OAL, POL
from soqo.policies._guarded import Guarded
from soqo.policies._hyscale import HySCaLE
from soqo.policies._lai import LAI
from soqo.policies._periodic import Periodic
from soqo.policies._rls import RLS
from soqo.policies._robd import ROBD
from soqo.policies._scale import Phase, SCaLE
from soqo.policies._wrappers import Limited, Weighted, Wrapper, match_switching_weight
from soqo.policies.glide import GLIDE

__all__ = [
    "FTM",
    "GLIDE",
    "LAI",
    "OAL",
    "POL",
    "RLS",
    "ROBD",
    "Guarded",
    "HySCaLE",
    "Limited",
    "Periodic",
    "Phase",
    "Policy",
    "SCaLE",
    "State",
    "Weighted",
    "Wrapper",
    "draw_per_run",
    "match_switching_weight",
    "register",
    "wrap_for_plant",
]
