"""Methods that begin with what is known of other tasks, or with what an expert believes."""
