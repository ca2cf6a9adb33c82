"""Pickles of plain data, read without running any code in them."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from typing import IO, Any

import numpy as np

_scalar = np.float64(0).__reduce__()[0]
SCALARS = {f"numpy.{core}.multiarray.scalar": _scalar for core in ("core", "_core")}
"""numpy's scalar, under its old and its new name."""
_PLAIN = {"collections.OrderedDict": OrderedDict, "builtins.set": set, "numpy.dtype": np.dtype, **SCALARS}


class NotPlain(pickle.UnpicklingError):
    """Raised for a pickle with anything but plain data."""


class _PlainUnpickler(pickle.Unpickler):
    """An unpickler that makes only plain containers and numbers."""

    def find_class(self, module: str, name: str) -> Any:
        try:
            return _PLAIN[f"{module}.{name}"]
        except KeyError:
            raise NotPlain(f"{module}.{name} is not plain data") from None


def load_plain(file: IO[bytes]) -> Any:
    """The containers, texts and numbers in a pickle. Raises NotPlain for anything else."""
    return _PlainUnpickler(file).load()
