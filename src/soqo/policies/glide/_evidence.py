"""How much evidence it takes to doubt a reading, and to consider a change of A."""

from __future__ import annotations

BRANCH_NATS, LATE_BRANCH_NATS = 8.0, 5.0
"""Both outcomes, accept and reject, are kept if their log weights differ by less than this, before and after 2p
readings."""

SURPRISE_SQUARE = 16.0
"""A squared normalized innovation above this is a reason to consider a change of A."""

CHANGE_RATIO, MAX_SQUARE, AVERAGING_READINGS = 5.0, 25.0, 10.0
"""A moving average of the squared normalized innovations above the first is evidence of a change; those of uniform
noise are at most 3. Each square is clipped to the second."""

MAX_CHANGE = 30.0
"""A reading whose error would need a change of A by more than this many times its scale is wrong in any case."""
