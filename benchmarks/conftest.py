"""The literal transcription lies beside the benchmarks and is imported by its plain name."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
