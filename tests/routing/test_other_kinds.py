"""Rails and differing planes route as Clos planes do; fabrics without tiers are refused plainly."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctestbed.core.errors import ExitCode, InputError
from ctestbed.routing.clos import route_flows
from ctestbed.routing.commands import PathRequest, run_path
from ctestbed.topology.build import build_topology, load_topology
from ctestbed.workload.transfer import TransferRequest, run_transfer
from tests.routing.walks import check_walk, shortest
from tests.topology.strategies import document, load_document

RAILS = {"rails": 3, "tors_per_rail": 2, "segments": 2, "hosts_per_segment": 2, "spines": 2}


@pytest.mark.parametrize("numbers", [RAILS, RAILS | {"pods": 2, "cores": 4, "parallel": 2}])
def test_all_pairs_over_rails(numbers: dict[str, Any]) -> None:
    topology = build_topology(
        load_document(document("rail-optimised", **numbers) | {"host": {"nics": 3}})
    )
    pairs = [(a, b) for a in range(topology.endpoints) for b in range(topology.endpoints) if a != b]
    source, destination = np.array(pairs).T
    for spread in ("balanced", "ecmp"):
        paths = route_flows(topology, source, destination, spread=spread, seed=2)
        for flow, (a, b) in enumerate(pairs):
            check_walk(topology, paths.path(flow).tolist(), a, b)
        for flow in range(0, len(pairs), 11):
            expected = shortest(topology, *pairs[flow])
            assert (len(paths.path(flow)), int(paths.candidates[flow])) == expected


@settings(deadline=None, max_examples=25)
@given(st.sampled_from(["uneven-planes-1024", "three-vendor-sites"]), st.data())
def test_paths_where_planes_or_vendors_differ(name: str, data: Any) -> None:
    _, topology = load_topology(name)
    ends = st.integers(0, topology.endpoints // 4 - 1)
    plane = data.draw(st.integers(0, 3))
    source, destination = (data.draw(ends) * 4 + plane for _ in range(2))
    if source == destination:
        return
    arrays = np.array([source]), np.array([destination])
    for spread in ("balanced", "ecmp"):
        paths = route_flows(topology, *arrays, spread=spread, seed=data.draw(st.integers(0, 9)))
        check_walk(topology, paths.path(0).tolist(), source, destination)


def test_rails_without_a_spine_stay_apart() -> None:
    _, topology = load_topology("rail-only-1024")
    paths = route_flows(topology, np.array([3]), np.array([1019]), spread="balanced", seed=1)
    assert len(paths.path(0)) == 2
    with pytest.raises(InputError) as caught:
        route_flows(topology, np.array([3]), np.array([4]), spread="balanced", seed=1)
    assert caught.value.code == "CTB-R001"


def test_trunks_between_rails_without_a_spine() -> None:
    drawn = document("rail-only", rails=2, domains=3) | {"host": {"nics": 2}}
    drawn["sites"] = [{"name": "a"}, {"name": "b"}]
    drawn["trunks"] = [{"between": ["a", "b"], "length": "80km", "rate": "400Gbps", "links": 2}]
    topology = build_topology(load_document(drawn))
    paths = route_flows(topology, np.array([1]), np.array([9]), spread="balanced", seed=1)
    check_walk(topology, paths.path(0).tolist(), 1, 9)
    assert (len(paths.path(0)), int(paths.candidates[0])) == shortest(topology, 1, 9) == (3, 2)


@pytest.mark.parametrize(
    "name", ["dragonfly-1056", "slim-fly-6498", "tpu-v4-4096", "ub-mesh-1024", "nvl72"]
)
def test_fabrics_without_tiers_are_refused_plainly(name: str) -> None:
    attempts: list[Callable[[], Any]] = [
        lambda: run_path(PathRequest(name, "0", "5")),
        lambda: run_transfer(TransferRequest(name, "shift:1", "1MB")),
    ]
    for attempt in attempts:
        with pytest.raises(InputError, match="not built yet") as caught:
            attempt()
        assert caught.value.code == "CTB-R004"
        assert caught.value.exit_code == ExitCode.INPUT
        assert caught.value.hint


def test_counts_alone_have_no_paths() -> None:
    with pytest.raises(InputError) as caught:
        run_path(PathRequest("deepseek-slim-fly-32928", "0", "5"))
    assert caught.value.code == "CTB-T055"
