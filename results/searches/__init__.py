"""What one-shot methods log of their searches: read, summed up, drawn."""

from results.searches.logs import Searches, load

__all__ = ["Searches", "load"]
