"""structlog as a server needs it: without what its console renderer would import, if it is there.

That renderer is for people who develop at a terminal; here `rich` would cost every server process
80 ms at its start and 6 MB for as long as it runs, `colorama` 15 ms. Whoever imports structlog
first must do it here, and the rooms above import this one.
"""

from __future__ import annotations

import sys

__all__ = ["structlog"]

_HIDDEN = () if "structlog" in sys.modules else {"rich", "colorama"} - sys.modules.keys()

for _name in _HIDDEN:
    # The import system takes None for "there is no such module", which structlog is ready for.
    sys.modules[_name] = None  # type: ignore[assignment]
try:
    import structlog
finally:
    for _name in _HIDDEN:
        del sys.modules[_name]
