"""The names by which soqo 0.1.0 wrote classes to files, which were module paths, and the tags that they have now."""

from __future__ import annotations

__all__ = ["LEGACY_TAGS"]

LEGACY_TAGS = {
    "soqo.controller:Standing": "Controller",
    "soqo.policies.base:State": "State",
    "soqo.spectrum:Spectrum": "Spectrum",
    "soqo.policies.known:FTM": "FTM",
    "soqo.policies.known:LAI": "LAI",
    "soqo.policies.known:ROBD": "ROBD",
    "soqo.policies.learners:POL": "POL",
    "soqo.policies.learners:OAL": "OAL",
    "soqo.estimators.gradient:GradientEstimate": "GradientEstimate",
    "soqo.policies.scale:SCaLE": "SCaLE",
    "soqo.policies.scale:HySCaLE": "HySCaLE",
    "soqo.policies.scale:ScaleMemory": "SCaLE.memory",
    "soqo.policies.glide:GLIDE": "GLIDE",
    "soqo.policies.glide:GlideMemory": "GLIDE.memory",
    "soqo.estimators.recursive:Belief": "GLIDE.belief",
    "soqo.policies.suspicion:Suspicion": "GLIDE.outliers",
    "soqo.policies.drift:Drift": "GLIDE.drift",
    "soqo.policies.wrappers:Weighted": "Weighted",
    "soqo.policies.wrappers:Limited": "Limited",
    "soqo.processes:Gaussian": "Gaussian",
    "soqo.processes:Correlated": "Correlated",
    "soqo.processes:Laplace": "Laplace",
    "soqo.processes:StudentT": "StudentT",
    "soqo.processes:Cauchy": "Cauchy",
    "soqo.processes:Recorded": "Recorded",
}
