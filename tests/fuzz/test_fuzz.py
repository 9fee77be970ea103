"""A short version of every attack of `make fuzz`."""

from __future__ import annotations

import fuzz_estimators
import fuzz_files
import fuzz_journals
import fuzz_policies
import fuzz_reproducibility
import fuzz_service
import soqo


def test_no_certificate_is_false() -> None:
    faults, counts = fuzz_estimators.run(first=0, count=220)
    assert not faults
    assert len(counts) == 4  # every status occurs


def test_crafted_files_are_refused() -> None:
    faults, _, refused = fuzz_files.run(seed=0, count=15)
    assert not faults
    assert refused == 15


def test_cuts_and_flips_of_journals_are_noticed() -> None:
    faults, done = fuzz_journals.run(seed=0, count=1500)
    assert not faults
    assert done == 1500


def test_addresses_of_arrays_do_not_matter() -> None:
    assert not fuzz_reproducibility.run(dims=(4, 12), allocations=3)


def test_no_request_makes_a_server_fail_or_forget() -> None:
    faults, statuses = fuzz_service.run(first=0, count=120)
    assert not faults
    assert statuses[200] > 0
    assert statuses[422] > 0


def test_no_finite_number_makes_a_policy_raise() -> None:
    assert not fuzz_policies.run(first=0, count=10, rounds=20)
    # Time updates without a root, and readings that overflow in units of their own.
    for seed in (0, 3, 4, 11, 20, 27):
        assert not fuzz_policies.attack(seed, "GLIDE", soqo.GLIDE(), 1 + seed % 4, 25)
    probes = soqo.SCaLE(noise_cap=0.1, rank=1, min_eigenvalue=0.5, c1=1.0)
    for seed in (70, 122):
        assert not fuzz_policies.attack(seed, "SCaLE", probes, 1, 25)
