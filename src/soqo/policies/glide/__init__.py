"""GLIDE and its parts."""
