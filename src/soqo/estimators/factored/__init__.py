"""The posterior of A for many dimensions."""

from soqo.estimators.factored._posterior import Factored

__all__ = ["Factored"]
