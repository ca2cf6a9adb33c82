"""Repeatability: the machines on which a run can be repeated bit for bit."""

from __future__ import annotations

from enum import StrEnum


class Repeatable(StrEnum):
    """The machines on which the same seed gives the same bits, with the same versions of packages; the widest first."""

    ANY_PROCESSOR = "any processor"
    """The order of every sum is fixed, independent of BLAS kernels and NumPy loops."""
    SAME_KERNELS = "processors with the same kernels"
    """Matrices are multiplied: on x86-64 with AVX2 the kernels are fixed, elsewhere the processor chooses them."""
    SAME_MACHINE = "the same machine"
    """PyTorch or other compiled code computes, with kernels that are not fixed."""
    NEVER = "no machine"
    """Something decides that no seed fixes, such as a language model."""

    @classmethod
    def both(cls, first: Repeatable, second: Repeatable) -> Repeatable:
        """The machines for a run of a method on a benchmark: the narrower of the two."""
        return max(first, second, key=list(cls).index)
