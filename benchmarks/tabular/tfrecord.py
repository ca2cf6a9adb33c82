"""TensorFlow's record files, read without TensorFlow.

A record is the length of its payload (8 bytes, little-endian), the masked CRC-32C of these 8 bytes, the payload, and
the masked CRC-32C of the payload.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nasbench.base.errors import UsageError

_POLYNOMIAL = 0x82F63B78  # Castagnoli's, reflected
_MASK = 0xA282EAD8
_LONGEST = 1 << 20  # bytes; records of tables have a few thousand


def records(path: Path) -> Iterator[bytes]:
    """The payloads of a record file, in order. Raises UsageError if a record is damaged or cut off."""
    with path.open("rb") as file:
        place = 0
        while head := file.read(12):
            if len(head) < 12:
                raise UsageError(f"{path} ends inside a record, at byte {place}: it is cut off")
            length, check = struct.unpack("<QI", head)
            if masked_crc(head[:8]) != check or length > _LONGEST:
                raise UsageError(f"{path} has no record at byte {place}: it is damaged, or not a TFRecord file")
            body = file.read(length + 4)
            if len(body) < length + 4:
                raise UsageError(f"{path} ends inside a record, at byte {place}: it is cut off")
            payload = body[:length]
            if masked_crc(payload) != struct.unpack("<I", body[length:])[0]:
                raise UsageError(f"{path} is damaged: the record at byte {place} has a wrong checksum")
            yield payload
            place += 16 + length


def masked_crc(content: bytes) -> int:
    """The CRC-32C of some bytes (RFC 3720, appendix B.4), rotated and shifted as TensorFlow does."""
    crc = crc32c(content)
    return (((crc >> 15) | (crc << 17)) + _MASK) & 0xFFFFFFFF


def crc32c(content: bytes) -> int:
    """The CRC-32C of some bytes."""
    return int(_compiled()(np.frombuffer(content, np.uint8), _table()))


@cache
def _table() -> NDArray[np.uint32]:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(_POLYNOMIAL), table >> 1).astype(np.uint32)
    return table


@cache
def _compiled():  # type: ignore[no-untyped-def]
    from numba import njit  # slow to import

    @njit
    def crc(content, table):  # type: ignore[no-untyped-def]
        checksum = np.uint32(0xFFFFFFFF)
        for byte in content:
            checksum = table[(checksum ^ byte) & np.uint32(0xFF)] ^ (checksum >> np.uint32(8))
        return checksum ^ np.uint32(0xFFFFFFFF)

    return crc
