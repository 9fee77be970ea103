"""GLIDE's rounds as machine code, where the extra ``fast`` is installed; the same results as NumPy's to round-off.

``_layout`` and ``_memory`` import neither Numba nor compiled functions. The other modules do, and ``engine`` is imported
only if :func:`soqo._foundation.compilation.can_compile`.
"""
