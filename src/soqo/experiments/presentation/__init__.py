"""How to show it: figures, their style, and the page."""
