"""The benchmark of growth builds what it says, and both sides of it the same graph."""

from math import isclose

import pytest

from ctestbed.topology.build import load_topology
from tools.bench_fabric import LARGE, ORDERS, Size, document, exponent, measure, measure_networkx
from tools.benchmarks import main


@pytest.mark.parametrize("order", [2, 4])
def test_both_sides_build_as_many_cables(order: int) -> None:
    size = measure(order)
    assert size.ports == 8 * size.nics == (8 * order) ** 2 * 4
    assert measure_networkx(order, 8)[2] == size.cables == 2 * size.ports
    assert 0 < size.build_peak <= size.peak


def test_the_largest_is_the_built_in_testbed() -> None:
    _, topology = load_topology("mrc-131072")
    fabric = document(ORDERS[-1])["fabric"]
    assert (topology.nics, topology.planes) == (131072, 8)
    assert fabric["k"] * 8 == 2 * topology.block(0, 0).ports_per_leaf


def test_the_exponent_is_the_slope() -> None:
    sizes = [Size(n, n, n, 1e-9 * n**1.5, 0, 1.0, 0) for n in (1000, LARGE * 2, LARGE * 8, 10**6)]
    assert isclose(exponent(sizes, lambda size: size.build), 1.5)
    assert isclose(exponent(sizes, lambda size: size.validate), 0, abs_tol=1e-9)


def test_an_unknown_section_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fabrics"]) == 2
    assert "crypto, fabric, flow, packet, start" in capsys.readouterr().out
