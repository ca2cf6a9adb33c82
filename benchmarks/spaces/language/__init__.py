"""The search-space language of DeepArchitect (Negrinho and Gordon, 2017; Negrinho et al., 2019)."""
