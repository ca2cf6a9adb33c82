"""Messages of Protocol Buffers, read without its library."""

from __future__ import annotations

import struct
from collections.abc import Iterator


class Malformed(ValueError):
    """Raised for bytes that are not a message."""


def fields(message: bytes) -> Iterator[tuple[int, int | float | bytes]]:
    """The fields of a message, as pairs of a number and a value: an integer, a double, or bytes.

    Raises Malformed if it is not a message. (Encoding: protobuf.dev/programming-guides/encoding.)
    """
    place = 0
    while place < len(message):
        tag, place = _varint(message, place)
        kind = tag & 7
        if kind == 0:
            value, place = _varint(message, place)
            yield tag >> 3, value
            continue
        length = 8
        if kind == 2:
            length, place = _varint(message, place)
        elif kind == 5:
            length = 4
        elif kind != 1:
            raise Malformed(f"there is no field of kind {kind}")
        part = message[place : place + length]
        if len(part) < length:
            raise Malformed("it is cut off")
        place += length
        yield tag >> 3, struct.unpack("<d", part)[0] if kind == 1 else part


def _varint(message: bytes, place: int) -> tuple[int, int]:
    """An integer of variable length, and the place of its end."""
    value = 0
    for shift in range(0, 70, 7):
        if place >= len(message):
            raise Malformed("it is cut off")
        byte = message[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, place
    raise Malformed("an integer has more than ten bytes")
