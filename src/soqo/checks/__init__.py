"""Contract checks that you run on your own class: ``check_policy``, ``check_process`` and friends.

Each raises :class:`soqo.errors.CheckError` with the name of the property that failed and what was seen, and returns
None otherwise. The single checks are in ``POLICY_CHECKS``, ``PROCESS_CHECKS``, ``ESTIMATOR_CHECKS`` and
``NOISE_CHECKS``, to parametrize a test with.

>>> import soqo
>>> soqo.checks.check_policy(soqo.FTM())
>>> soqo.checks.check_process(soqo.processes.Laplace(2.0))
>>> soqo.checks.check_noise(soqo.noise.Uniform(1.0))
>>> soqo.checks.check_meter(soqo.meters.Quantization(0.1))
>>> soqo.checks.check_estimator(soqo.psd_least_absolute_deviations)
"""

from soqo.checks._estimators import ESTIMATOR_CHECKS, check_estimator
from soqo.checks._meters import METER_CHECKS, check_meter
from soqo.checks._noise import NOISE_CHECKS, check_noise
from soqo.checks._policies import POLICY_CHECKS, check_policy
from soqo.checks._processes import PROCESS_CHECKS, check_process
from soqo.checks._scenario import Scenario

__all__ = [
    "ESTIMATOR_CHECKS",
    "METER_CHECKS",
    "NOISE_CHECKS",
    "POLICY_CHECKS",
    "PROCESS_CHECKS",
    "Scenario",
    "check_estimator",
    "check_meter",
    "check_noise",
    "check_policy",
    "check_process",
]
