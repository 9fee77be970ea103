"""Optional dependencies."""

from __future__ import annotations

import importlib
from types import ModuleType

from soqo.errors import MissingExtraError


def require_extra(module: str, extra: str) -> ModuleType:
    """Import an optional dependency, or raise an error that names the extra which installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f'{module} is needed for this and is not installed: pip install "soqo[{extra}]"'
        ) from error
