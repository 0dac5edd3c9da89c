"""What workers of Spark have loaded for good, kept from Python's collector of cycles."""

from __future__ import annotations

import functools
import gc


@functools.cache
def leave_loaded() -> None:
    """Let the collector pass over all that is there at the first call; later ones do nothing.

    Spark lets it run after each task and each plan (4.3), over all that PySpark and pyarrow have
    imported: more processor time than reading 200,000 rows of an export takes.
    """
    gc.freeze()
