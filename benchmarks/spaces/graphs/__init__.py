"""Networks as graphs of layers (NASBOT): graphs, modifiers, and spaces of all graphs within bounds."""
