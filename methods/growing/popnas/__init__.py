"""POPNAS: networks that grow level by level along the front of predicted score, seconds and size."""
