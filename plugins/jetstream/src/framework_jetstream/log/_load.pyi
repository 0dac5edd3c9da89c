from framework_jetstream.log._thread import LogThread

def run(
    thread: LogThread,
    *,
    group: int,
    count: int,
    payload_bytes: int,
    window: int,
    batch_max: int,
    wake_fd: int,
    told_fd: int = -1,
    trims: bool = False,
) -> int: ...
