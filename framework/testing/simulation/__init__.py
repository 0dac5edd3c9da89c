"""Whole servers' links in virtual time: real actors and real planes, a simulated network, one seed.

Everything that happens comes from the seed, so a failure is played again by its number. A plugin's
test makes a server of its own of `SimulatedServer`, starts its actors in it, and asks at the end.
"""

from framework.testing.simulation._disk import SimulatedDisk
from framework.testing.simulation._network import SimulatedNetwork
from framework.testing.simulation._server import SimulatedServer

__all__ = ["SimulatedDisk", "SimulatedNetwork", "SimulatedServer"]
