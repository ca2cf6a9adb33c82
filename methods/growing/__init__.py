"""Methods on spaces whose choices open others: networks grown level by level, and paths of a tree of decisions."""
