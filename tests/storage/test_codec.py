"""Records are encoded as bytes and decoded bit for bit; other bytes are refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from soqo._foundation.frozen_dataclasses import Value
from soqo._storage.codec import decode, encode
from soqo._storage.plain_data import same
from soqo._version import __version__
from soqo.errors import FileFormatError
from soqo.processes import Gaussian


@dataclass(frozen=True, eq=False)
class Example(Value):
    """A record with any contents."""

    array: Any
    other: Any = None


def layouts() -> dict[str, Any]:
    """Return an array in every memory layout."""
    cube = np.random.default_rng(0).standard_normal((2, 3, 4))
    return {
        "C order": cube,
        "Fortran order": np.asfortranarray(cube),
        "transposed": np.ascontiguousarray(cube.transpose(1, 2, 0)).transpose(2, 0, 1),
        "every second": np.repeat(cube, 2, axis=1)[:, ::2],
        "reversed": cube[:, ::-1, :],
        "broadcast": np.broadcast_to(cube[:, :1], (2, 3, 4)),
        "one row": cube[:1, :1],
        "scalar": cube[0, 0, 0],
        "empty": cube[:, :0],
    }


@pytest.mark.parametrize("array", layouts().values(), ids=layouts())
def test_an_array_keeps_its_bits_and_the_order_of_its_axes_in_memory(array: Any) -> None:
    decoded = decode(encode(Example(array, (array, "text"))))
    assert same(decoded, Example(np.asarray(array), (np.asarray(array), "text")))
    assert decoded.array.flags.writeable
    if array.size > 1 and 0 not in array.strides:
        strides = [
            [step for step, size in zip(each.strides, each.shape, strict=True) if size > 1]
            for each in (array, decoded.array)
        ]
        assert np.argsort(np.abs(strides[0])).tolist() == np.argsort(np.abs(strides[1])).tolist()


@pytest.mark.parametrize("dtype", ["<f8", "<f4", ">f8", "<i8", "<i2", "<u8", "|b1"])
def test_an_array_keeps_its_dtype(dtype: str) -> None:
    array = np.array([0, 1, 1, 0, 7]).astype(dtype)
    decoded = decode(encode(array))
    assert decoded.dtype == array.dtype
    np.testing.assert_array_equal(decoded, array)


def test_plain_values_keep_their_bits() -> None:
    values = (None, True, 3, -0.0, 0.1, 1e-320, np.inf, -np.inf, np.nan, "ü\n", [2**70], {"a": ()})
    assert same(decode(encode(values)), values)


def test_bytes_that_are_not_a_record_are_refused() -> None:
    good = encode(Example(np.arange(3.0), Gaussian(2.0)))
    damaged = [good[:length] for length in range(len(good))]
    damaged += [good + b"\0", good.replace(b"Gaussian", b"Gaussoid"), b"\xff" * 40]
    damaged += [good.replace(b'"<f8"', b'"<q8"'), good.replace(b'"scale"', b'"skale"')]
    for data in damaged:
        with pytest.raises(FileFormatError):
            decode(data)


def test_the_error_for_an_unreadable_record_names_the_version_that_wrote_it() -> None:
    data = encode(Gaussian(2.0)).replace(__version__.encode(), b"9" * len(__version__))
    reason = rf"written by soqo 9+, cannot be read by soqo {__version__}"
    with pytest.raises(FileFormatError, match=reason):
        decode(data.replace(b"Gaussian", b"Gaussoid"))
