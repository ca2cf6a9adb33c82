"""Pickles of plain data, read without running any code in them."""

from __future__ import annotations

import pickle
import re
from collections import OrderedDict
from typing import IO, Any

import numpy as np


class NotPlain(pickle.UnpicklingError):
    """Raised for a pickle with anything but plain data."""


class NumberType:
    """A type of numbers, in place of `numpy.dtype`: that one believes what a pickle states of its fields, even that
    they hold objects, whose addresses then come from the file."""

    __slots__ = ("dtype",)

    def __init__(self, code: object, _align: object = False, _copy: object = True) -> None:
        if not (isinstance(code, str) and re.fullmatch("b1|[iu][1248]|f[248]", code)):
            raise NotPlain(f"{str(code)[:20]!r} is no type of numbers")
        self.dtype = np.dtype(code)

    def __setstate__(self, state: object) -> None:
        if not (isinstance(state, tuple) and state[1:2] in [("<",), (">",), ("|",)] and not any(state[2:5])):
            raise NotPlain("a type of numbers has a byte order and nothing else")
        self.dtype = self.dtype.newbyteorder(state[1])


class _Number:
    """Makes a number of its type and its bytes; it has no attributes that a pickle could set."""

    __slots__ = ()

    def __call__(self, kind: object, content: object) -> np.generic:
        if not (isinstance(kind, NumberType) and isinstance(content, bytes) and len(content) == kind.dtype.itemsize):
            raise NotPlain("a number is its type and as many bytes as that has")
        number: np.generic = np.frombuffer(content, kind.dtype)[0]
        return number


_number = _Number()
PLAIN: dict[str, Any] = {
    "collections.OrderedDict": OrderedDict,
    "builtins.set": set,
    "numpy.dtype": NumberType,
    "numpy.core.multiarray.scalar": _number,
    "numpy._core.multiarray.scalar": _number,
}
"""What stands for each name in a pickle, NumPy's scalar under its old and its new one; no other name is allowed."""


class _PlainUnpickler(pickle.Unpickler):
    """An unpickler that makes only plain containers and numbers."""

    def find_class(self, module: str, name: str) -> Any:
        try:
            return PLAIN[f"{module}.{name}"]
        except KeyError:
            raise NotPlain(f"{module}.{name} is not plain data") from None


def load_plain(file: IO[bytes]) -> Any:
    """The containers, texts and numbers in a pickle. Raises NotPlain for anything else."""
    return _PlainUnpickler(file).load()
