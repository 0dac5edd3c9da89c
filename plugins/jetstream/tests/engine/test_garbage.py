"""Engines that end when garbage is collected, together with what they use."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import test_engine_simulation
from framework_jetstream.engine._segment_jobs import SegmentJobs
from test_engine_simulation import Simulation

pytestmark = pytest.mark.sim


def test_an_engine_ends_before_its_log_where_both_are_garbage(monkeypatch):
    jobs_hold = []

    def held(read):
        return SegmentJobs(lambda *place, engines=jobs_hold: read(*place) if engines else b"")

    monkeypatch.setattr(test_engine_simulation, "SegmentJobs", held)
    for seed in range(20):
        jobs_hold = []
        simulation = Simulation(seed)
        for _ in range(15):
            simulation.publish()
            simulation.turn()
            simulation.round()
        jobs_hold.append(simulation.engine)
        simulation.engine = simulation.log = simulation.jobs = None
        gc.collect()


def test_a_port_may_be_collected_before_its_engine():
    for seed in range(5):
        simulation = Simulation(seed)
        engine, simulation.engine = simulation.engine, None
        simulation.port = None
        del simulation
        gc.collect()
        del engine
