"""Free networks: any valid graph of layers within bounds (NASBOT's spaces)."""
