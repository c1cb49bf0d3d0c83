"""Rows of published counts, each by its testbed; sources stand beside them."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ctestbed.topology.build import load_topology
from ctestbed.topology.capacity import site_layers
from ctestbed.topology.graph import LinkClass, NodeKind, Topology
from ctestbed.topology.load import load_testbed
from ctestbed.topology.plan import require_plan


def _switches(topology: Topology) -> int:
    return int((topology.nodes.kind == NodeKind.SWITCH).sum())


def _inter_switch(topology: Topology) -> int:
    return int((topology.links.klass == LinkClass.FABRIC).sum())


def _degree(topology: Topology) -> Any:
    degree = np.diff(topology.adjacency.offsets)
    return degree[topology.nodes.kind == NodeKind.ACCELERATOR]


COUNTS: list[tuple[str, str, Callable[[Topology], int], int]] = [
    # DeepSeek-AI, Insights into DeepSeek-V3, ISCA 2025 (arXiv 2505.09343), table 3.
    ("T01", "deepseek-ft2-2048", lambda t: t.endpoints, 2048),
    ("T02", "deepseek-ft2-2048", _switches, 96),
    ("T03", "deepseek-ft2-2048", _inter_switch, 2048),
    ("T04", "deepseek-mpft-16384", lambda t: t.endpoints, 16384),
    ("T06", "deepseek-ft3-65536", lambda t: t.endpoints, 65536),
    ("T07", "deepseek-ft3-65536", _switches, 5120),
    ("T12", "deepseek-dragonfly-261632", lambda t: t.endpoints, 261632),
    ("T14", "deepseek-dragonfly-261632", _switches, 16352),
    # Araujo et al., MRC and SRv6 (arXiv 2605.04333), 2026.
    ("T17", "mrc-131072", lambda t: t.endpoints, 131072),
    # Qian et al., Alibaba HPN, SIGCOMM 2024.
    ("T22", "hpn-15360", lambda t: t.block(0, 0).ports_per_leaf * t.accelerators_per_host, 1024),
    ("T24", "hpn-15360", lambda t: t.sites[0].accelerators, 15360),
    # Liao et al., UB-Mesh (arXiv 2503.20377), 2025.
    ("T29", "ub-mesh-1024", lambda t: int(_degree(t).min()), 20),
    ("T29", "ub-mesh-1024", lambda t: int(_degree(t).max()), 20),
]


@pytest.mark.parametrize(("row", "name", "count", "value"), COUNTS)
def test_published_counts(
    row: str, name: str, count: Callable[[Topology], int], value: int
) -> None:
    assert count(load_topology(name)[1]) == value, row


def test_t09_and_t11_the_counts_of_slim_fly_28() -> None:
    # DeepSeek-AI, Insights into DeepSeek-V3, ISCA 2025, table 3: closed forms alone.
    plan = require_plan(load_testbed("deepseek-slim-fly-32928"))
    assert (plan.nics, plan.switches) == (32928, 1568)


def test_t22_t23_t24_hpn() -> None:
    # Qian et al., Alibaba HPN, SIGCOMM 2024.
    plan = require_plan(load_testbed("hpn-15360"))
    shape = plan.sites[0].shape
    assert (plan.planes, plan.split) == (2, True)
    assert (shape.leaves, shape.spines, shape.ports_per_leaf) == (120, 60, 128)
    narrowing = site_layers(plan, 0)[1].narrowing
    assert narrowing == Fraction(128 * 200, 60 * 400)
    assert abs(float(narrowing) - 1.067) < 0.002 * 1.067
    two = site_layers(require_plan(load_testbed("hpn-two-pods")), 0)
    assert two[2].narrowing == 15


def test_tpu_v4() -> None:
    _, topology = load_topology("tpu-v4-4096")
    assert topology.endpoints == 4096
    assert set(_degree(topology).tolist()) == {6}
