import os
import re
from typing import final

from framework_jetstream.log._face import Log

FILE_NAME: re.Pattern[str]

@final
class LogThread:
    log: Log
    def __new__(
        cls,
        log: Log,
        folder: str | os.PathLike[str],
        *,
        interval_s: float = 0,
        wake_fd: int = -1,
    ) -> LogThread: ...
    def start(self) -> None: ...
    def kick(self) -> None: ...
    def perform_small(self, bytes_max: int) -> bool: ...
    def stop(self) -> None: ...
    @property
    def rounds(self) -> int: ...
    @property
    def syncs(self) -> int: ...
