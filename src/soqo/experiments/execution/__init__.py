"""How to compute it: pieces of work, where they run, and what comes of them."""
