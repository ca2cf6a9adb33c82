"""Pickles of plain data, read without running any code in them: `load` and `Unpickler` in place of `pickle`'s."""

from __future__ import annotations

import pickle
import re
from collections import OrderedDict
from collections.abc import Callable
from typing import IO, Any

import numpy as np

_LARGEST_KEY = 1 << 60
_LONGEST_KEY = 8


class NotPlain(pickle.UnpicklingError):
    """Raised for a pickle with anything but plain data."""


class NumberType:
    """A type of numbers, in place of `numpy.dtype`: that one believes what a pickle states of its fields, even that
    they hold objects, whose addresses then come from the file."""

    __slots__ = ("dtype",)

    def __init__(self, code: object, _align: object = False, _copy: object = True) -> None:
        if not (isinstance(code, str) and re.fullmatch("b1|[iu][1248]|f[248]", code)):
            what = repr(code[:20]) if isinstance(code, str) else f"a {type(code).__name__}"  # its text may never end
            raise NotPlain(f"{what} is no type of numbers")
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


def _check_key(key: object, *, within: bool = False) -> None:
    """Raises NotPlain unless a key is a text, a whole number, or a few of these.

    The hash of any other takes the time that a file chooses: of a pair of twice the same pair of twice the same, sixty
    deep, which are 200 bytes, it never ends.
    """
    if isinstance(key, tuple) and len(key) <= _LONGEST_KEY and not within:
        for part in key:
            _check_key(part, within=True)
    elif not (isinstance(key, str) or (isinstance(key, int) and abs(key) < _LARGEST_KEY)):
        raise NotPlain(f"a {type(key).__name__} as a key is not plain data")


def _listed(elements: object) -> list[Any]:
    """The elements that something is made of, which `_reduce` has counted."""
    if not isinstance(elements, list | None):
        raise NotPlain(f"what is made of a {type(elements).__name__} is not plain data")
    return elements or []


class _Mapping:
    """Makes an ordered dictionary."""

    __slots__ = ()

    def __call__(self, pairs: object = None) -> OrderedDict[Any, Any]:
        made: OrderedDict[Any, Any] = OrderedDict()
        for key, value in _listed(pairs):
            _check_key(key)
            made[key] = value
        return made


class _Bytes:
    """Makes bytes of their text, as the oldest protocols write them."""

    __slots__ = ()

    def __call__(self, text: object, encoding: object) -> bytes:
        if not (isinstance(text, str) and encoding == "latin1"):
            raise NotPlain("bytes are a text in latin1")
        return text.encode("latin1")


class _Set:
    """Makes a set."""

    __slots__ = ()

    def __call__(self, items: object = None) -> set[Any]:
        for item in (listed := _listed(items)):
            _check_key(item)
        return set(listed)


_number, _set = _Number(), _Set()
PLAIN: dict[str, Any] = {
    "collections.OrderedDict": _Mapping(),
    "builtins.set": _set,
    "__builtin__.set": _set,
    "_codecs.encode": _Bytes(),
    "numpy.dtype": NumberType,
    "numpy.core.multiarray.scalar": _number,
    "numpy._core.multiarray.scalar": _number,
}
"""What stands for each name in a pickle, where some have an old and a new one; no other name is allowed."""


def _with_keys(opcode: bytes, keys: Callable[[list[Any]], list[Any]]) -> Callable[[Any], None]:
    """What an opcode does, after the keys that it takes from the stack are checked."""
    load: Callable[[Any], None] = pickle._Unpickler.dispatch[opcode[0]]

    def checked(unpickler: Any) -> None:
        for key in keys(unpickler.stack):
            _check_key(key)
        load(unpickler)

    return checked


def _build(unpickler: Any) -> None:
    """Sets the state of a type of numbers; of a mapping nothing, for attributes could stand for its own."""
    if isinstance(unpickler.stack[-2], OrderedDict):
        unpickler.stack.pop()
    elif isinstance(unpickler.stack[-2], NumberType):
        pickle._Unpickler.dispatch[pickle.BUILD[0]](unpickler)
    else:
        raise NotPlain(f"a {type(unpickler.stack[-2]).__name__} with attributes is not plain data")


def _append(opcode: bytes, count: Callable[[list[Any]], int]) -> Callable[[Any], None]:
    """What an opcode does to a list, after the elements that it adds are counted."""
    load: Callable[[Any], None] = pickle._Unpickler.dispatch[opcode[0]]

    def counted(unpickler: Any) -> None:
        unpickler.unused += count(unpickler.stack)
        load(unpickler)

    return counted


def _reduce(unpickler: Any) -> None:
    """Makes what a constructor makes of a list, whose elements may be used once: a file may name it without an end."""
    unpickler.unused -= sum(len(argument) for argument in unpickler.stack[-1] if isinstance(argument, list))
    if unpickler.unused < 0:
        raise NotPlain("a list that is used several times is not plain data")
    pickle._Unpickler.dispatch[pickle.REDUCE[0]](unpickler)


def _refuse(_: Any) -> None:
    raise NotPlain("what is stored elsewhere, or made as Python 2 made objects, is not plain data")


class Unpickler(pickle._Unpickler):
    """An unpickler that makes only plain containers and numbers.

    Python's own in Python, ten times slower than the one in C: that one hashes a key before anybody can look at it.
    """

    unused = 0
    """Number of elements of lists of which nothing was made."""

    dispatch = pickle._Unpickler.dispatch | {
        pickle.APPEND[0]: _append(pickle.APPEND, lambda stack: 1),
        pickle.APPENDS[0]: _append(pickle.APPENDS, len),
        pickle.REDUCE[0]: _reduce,
        pickle.SETITEM[0]: _with_keys(pickle.SETITEM, lambda stack: stack[-2:-1]),
        pickle.SETITEMS[0]: _with_keys(pickle.SETITEMS, lambda stack: stack[::2]),
        pickle.DICT[0]: _with_keys(pickle.DICT, lambda stack: stack[::2]),
        pickle.ADDITEMS[0]: _with_keys(pickle.ADDITEMS, lambda stack: stack),
        pickle.FROZENSET[0]: _with_keys(pickle.FROZENSET, lambda stack: stack),
        pickle.BUILD[0]: _build,
        pickle.INST[0]: _refuse,
        pickle.OBJ[0]: _refuse,
        pickle.PERSID[0]: _refuse,
        pickle.BINPERSID[0]: _refuse,
    }

    def find_class(self, module: str, name: str, /) -> Any:
        try:
            return PLAIN[f"{module}.{name}"]
        except KeyError:
            raise NotPlain(f"{module}.{name} is not plain data") from None


def load(file: IO[bytes], **options: Any) -> Any:
    """The containers, texts and numbers in a pickle. Raises NotPlain for anything else."""
    return Unpickler(file, **options).load()
