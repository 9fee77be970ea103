"""The rules by which each claim is judged."""

RULES = ()
