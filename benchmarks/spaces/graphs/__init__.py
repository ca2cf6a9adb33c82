"""Networks as graphs of layers (NASBOT): their form, their modifications, and spaces of all graphs within bounds."""
