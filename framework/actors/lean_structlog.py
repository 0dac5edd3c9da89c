"""structlog as a server needs it: without `rich`, which its console renderer would import.

That renderer is for people who develop at a terminal; here it would cost every server process
80 ms at its start and 6 MB for as long as it runs. Whoever imports structlog first must do it
here, and the rooms above import this one.
"""

from __future__ import annotations

import sys

__all__ = ["structlog"]

_HIDDEN = "rich"
_is_first = _HIDDEN not in sys.modules and "structlog" not in sys.modules

if _is_first:
    # The import system takes None for "there is no such module", which structlog is ready for.
    sys.modules[_HIDDEN] = None  # type: ignore[assignment]
try:
    import structlog
finally:
    if _is_first:
        del sys.modules[_HIDDEN]
