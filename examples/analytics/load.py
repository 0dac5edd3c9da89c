"""Shops that sell, prices that are asked for: something to look at. Ctrl-C ends it."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import random
import threading

from pyspark_nats.connection import Connection, Target, address_from_url
from pyspark_nats.frames import pub

SHOPS = 20
ARTICLES = 500
PAUSE_S = 0.05
RUSH_EVERY, RUSH_TURNS = 200, 40


def main() -> None:
    """Sell through one server, and ask through the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    default = os.environ.get("NATS_URL", "nats://127.0.0.1:4222,nats://127.0.0.1:4223")
    parser.add_argument("--servers", default=default)
    parser.add_argument("--seconds", type=float, default=3600.0)
    arguments = parser.parse_args()
    urls = arguments.servers.split(",")
    ended = threading.Event()
    threading.Timer(arguments.seconds, ended.set).start()
    work = [(sell, urls[0]), (serve_prices, urls[-1]), (ask_prices, urls[-1])]
    threads = [threading.Thread(target=it, args=(url, ended), daemon=True) for it, url in work]
    for thread in threads:
        thread.start()
    with contextlib.suppress(KeyboardInterrupt):
        ended.wait()
    os._exit(0)  # whatever waits for an answer


def connection(url: str, name: str) -> contextlib.closing[Connection]:
    address, login = address_from_url(url)
    return contextlib.closing(Connection(Target((address,), login, name=name), patience_s=30))


def sell(url: str, ended: threading.Event) -> None:
    """A few shops sell most; now and then one has a rush."""
    chance = random.Random(7)
    with connection(url, "till") as tills:
        for turn in itertools.count():
            rush = chance.randrange(SHOPS) if turn % RUSH_EVERY < RUSH_TURNS else None
            lines = []
            for _ in range(25):
                shop = rush if rush is not None else int(chance.paretovariate(1.2)) % SHOPS
                order = {
                    "article": chance.randrange(ARTICLES),
                    "amount": round(chance.lognormvariate(3, 1), 2),
                    "card": "4711-0815-4711-0815",
                }
                lines.append(pub(f"orders.shop-{shop}", json.dumps(order).encode()))
            tills.send(b"".join(lines))
            if ended.wait(PAUSE_S):
                return


def serve_prices(url: str, ended: threading.Event) -> None:
    """Answer what is asked; some articles take longer."""
    chance = random.Random(8)
    with connection(url, "prices") as desk:
        desk.subscribe("prices.*")
        while not ended.is_set():
            frame = desk.next_message(1)
            if frame is None:
                continue
            if int(frame.subject.rpartition(b".")[2]) % 10 == 0:
                ended.wait(chance.expovariate(100))
            desk.send(pub(frame.reply.decode(), b"%d" % chance.randrange(1, 100)))


def ask_prices(url: str, ended: threading.Event) -> None:
    """Ask for prices, one after the other."""
    chance = random.Random(9)
    with connection(url, "browser") as browser:
        browser.subscribe(f"{browser.inbox}.price.*")
        for number in itertools.count():
            reply = f"{browser.inbox}.price.{number}"
            browser.send(pub(f"prices.{chance.randrange(ARTICLES)}", b"", reply))
            browser.next_message(2)
            if ended.wait(PAUSE_S / 5):
                return


if __name__ == "__main__":
    main()
