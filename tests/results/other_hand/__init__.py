"""Reports recomputed from the words of docs/statistics.md, with numpy, scipy and pyarrow alone."""
