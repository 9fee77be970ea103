"""How often a client may call: a bucket of tokens for each, which fills at a steady rate."""

from __future__ import annotations

from time import monotonic

_MAX_CLIENTS = 10_000


class RateLimit:
    """A limit on the calls of each client.

    Parameters
    ----------
    rate : float
        The calls per second.
    burst : float
        The calls that may come at once.

    Examples
    --------
    >>> limit = RateLimit(rate=1.0, burst=2.0)
    >>> [limit.allow("a", at=0.0), limit.allow("a", at=0.0), limit.allow("a", at=0.0), limit.allow("a", at=1.0)]
    [True, True, False, True]
    """

    def __init__(self, rate: float, burst: float) -> None:
        self._rate, self._burst = rate, burst
        self._left: dict[str, tuple[float, float]] = {}

    def allow(self, client: str, *, at: float | None = None) -> bool:
        """Count a call, and return whether it is within the limit."""
        moment = monotonic() if at is None else at
        left, since = self._left.get(client, (self._burst, moment))
        left = min(self._burst, left + (moment - since) * self._rate)
        if len(self._left) >= _MAX_CLIENTS and client not in self._left:
            self._left.clear()  # bounded memory, whatever addresses come
        self._left[client] = (left - 1.0 if left >= 1.0 else left, moment)
        return left >= 1.0
