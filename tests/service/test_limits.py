"""The limit of calls: a steady rate for each client, and bounded memory."""

from __future__ import annotations

from soqo.service import _gate
from soqo.service._gate import RateLimit


def test_a_client_gets_its_rate_over_any_time() -> None:
    limit = RateLimit(rate=10.0, burst=5.0)
    allowed = sum(limit.allow("a", at=k / 100.0) for k in range(1000))  # 100 calls a second for 10 s
    assert 5 + 99 - 1 <= allowed <= 5 + 100
    assert limit.allow("b", at=0.0)


def test_many_addresses_do_not_fill_the_memory() -> None:
    limit = RateLimit(rate=1.0, burst=1.0)
    for number in range(_gate._MAX_CLIENTS + 10):
        limit.allow(str(number), at=0.0)
    assert len(limit._left) <= _gate._MAX_CLIENTS
