"""The diagnosis: what is installed and whether it works, as data and as text."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib import metadata

from soqo._doctor.installation import Extra, describe_blas, describe_threads, find_extras
from soqo._doctor.self_test import Check, run_all_checks
from soqo._version import __version__


@dataclass(frozen=True)
class Diagnosis:
    """What is installed and whether it works; printing it gives a text for a bug report.

    Attributes
    ----------
    system : dict of str to str
        Versions of soqo, Python, NumPy and SciPy, the platform, and the BLAS with its threads.
    extras : tuple of Extra
        The extras, with the versions of their packages and with what is missing.
    checks : tuple of Check
        The results of the self-test.
    """

    system: dict[str, str]
    extras: tuple[Extra, ...]
    checks: tuple[Check, ...]

    @property
    def healthy(self) -> bool:
        """Whether every test has passed."""
        return all(check.passed for check in self.checks)

    def __str__(self) -> str:
        width = max(map(len, self.system))
        lines = [f"{name:{width}}  {value}" for name, value in self.system.items()]
        lines += ["", "extras"]
        shown: set[str] = set()  # an extra that includes another one does not repeat it
        for extra in sorted(self.extras, key=lambda one: len(one.installed) + len(one.missing)):
            versions = ", ".join(f"{name} {found}" for name, found in extra.installed.items() if name not in shown)
            shown |= set(extra.installed)
            if extra.missing:
                fix = f'pip install "soqo[{extra.name}]"'
                lines.append(f"  {extra.name:9}incomplete, without {', '.join(extra.missing)}: {fix}")
                lines += [f"  {'':9}{versions}"] if versions else []
            else:
                lines.append(f"  {extra.name:9}{versions or 'complete'}")
        lines += ["", "self-test"]
        for check in self.checks:
            state = "ok" if check.passed else "FAILED"
            lines.append(f"  {check.name:12}{state:8}{check.message} ({check.seconds:.2f} s)")
        return "\n".join(lines)


def doctor() -> Diagnosis:
    """Say what is installed, and test it in about a second.

    Returns
    -------
    Diagnosis
        Versions, extras and the results of the tests. ``print`` shows a text for a bug report.

    Examples
    --------
    >>> import soqo
    >>> found = soqo.doctor()
    >>> found.healthy, [check.name for check in found.checks]
    (True, ['simulation', 'estimate', 'journal'])
    """
    system = {
        "soqo": __version__,
        "Python": f"{platform.python_version()} ({platform.python_implementation()})",
        "platform": platform.platform(),
        "NumPy": metadata.version("numpy"),
        "SciPy": metadata.version("scipy"),
        "BLAS": describe_blas(),
        "threads": describe_threads(),
    }
    return Diagnosis(system, tuple(find_extras()), tuple(run_all_checks()))
