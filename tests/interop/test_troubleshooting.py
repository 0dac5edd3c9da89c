"""What operators see when something is not as it should be."""

from __future__ import annotations

import pytest

from framework.testing import member_config
from tests.interop.pairs import ACCOUNTS


@pytest.mark.peer("nats")
def test_without_a_user_of_the_system_account_the_tool_is_told_nothing(fleet, kind, nats_cli):
    server = fleet.start(kind=kind, config=member_config("S", more=ACCOUNTS), port=None)
    login = ("--user", "A", "--password", "x", "--timeout", "1s")

    with pytest.raises(AssertionError, match="ensure the account used has system privileges"):
        nats_cli.run(server.url, *login, "server", "list")
