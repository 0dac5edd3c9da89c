"""Limits of what a server process may tell its supervisor."""

from __future__ import annotations

STATUS_LINE_BYTES_MAX = 32 * 1_024
"""One JSON status line; a real one has about 400 bytes, and plugins may add 200 a server."""

STATUS_UNREAD_BYTES_MAX = 64 * 1_024
"""Read at once from one child, so that a child that floods its status cannot hold the others up."""

LOG_LINE_BYTES_MAX = 16 * 1_024
"""One log line passed on; a longer one is cut, and says so."""

LOG_TAIL_BYTES_MAX = 8 * 1_024
"""Read from the end of a log to find the last line of a server that died."""

PROBLEM_CHARACTERS_MAX = 200
"""Shown of a log line when it explains why a server stopped."""

SILENT_AFTER_S = 5.0
"""Without a status line for this long a server is shown as silent; it writes one each second."""

SETTLED_AFTER_S = 5.0
"""From ready to when lines that wait are told: the others have to come up, too."""

REQUEST_DEADLINE_S = 40.0
"""From a request to a server to what came of it; longer than a start or a stop may take."""

CONTROL_LINE_BYTES_MAX = 16 * 1_024
"""One request or answer on the control socket; the longest is the refusal of a reload."""

SOCKET_PATH_BYTES_MAX = 103
"""What every Unix takes for the address of a socket; Linux takes four more."""

CONTROL_CONNECTIONS_MAX = 16
"""Commands that wait for answers at a time."""

CONTROL_REQUEST_DEADLINE_S = 5.0
"""From a connection to its request."""

assert STATUS_LINE_BYTES_MAX < STATUS_UNREAD_BYTES_MAX
