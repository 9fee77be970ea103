"""GLIDE's rounds as machine code, where the extra ``fast`` is installed; the same results as NumPy's to round-off.

This package itself imports no Numba. ``rounds`` does, and is imported only if
:func:`soqo._foundation.compilation.can_compile`.
"""

from soqo.policies.glide._compiled._packed import CompiledMemory, is_packable, pack, with_plain_memory

__all__ = ["CompiledMemory", "is_packable", "pack", "with_plain_memory"]
