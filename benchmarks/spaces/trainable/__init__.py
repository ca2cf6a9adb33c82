"""Spaces of image networks that live benchmarks can train, by name: `digits/NAME`. A new one is one file here."""

from nasbench.benchmarks.spaces.trainable.trainable import SPACES, Frame, TrainableSpace, WrittenSpace

__all__ = ["SPACES", "Frame", "TrainableSpace", "WrittenSpace"]
