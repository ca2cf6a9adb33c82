"""On which machines a run can be repeated bit for bit."""

from __future__ import annotations

from enum import StrEnum


class Repeatable(StrEnum):
    """The machines on which the same seed gives the same bits, with the same versions of packages; the widest first."""

    ANY_PROCESSOR = "any processor"
    """Its sums have an order of their own, whatever the kernels of BLAS and the loops of NumPy."""
    SAME_KERNELS = "processors with the same kernels"
    """It multiplies matrices: on x86-64 with AVX2 the kernels are fixed, elsewhere the processor chooses them."""
    SAME_MACHINE = "the same machine"
    """PyTorch or other compiled code computes, whose kernels nobody fixes."""

    @classmethod
    def both(cls, first: Repeatable, second: Repeatable) -> Repeatable:
        """Where a run of a method on a benchmark can be repeated: the narrower of the two."""
        return max(first, second, key=list(cls).index)
