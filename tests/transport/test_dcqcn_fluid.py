"""Fluid DCQCN against its fixed point, published figures, and what must hold without congestion."""

from typing import Any

import numpy as np
import pytest

from ctestbed.core.errors import InputError
from ctestbed.transport.dcqcn_fixed_point import (
    DcqcnParameters,
    cube_root_estimate,
    fixed_point,
    ramp_queue,
)
from ctestbed.transport.dcqcn_fluid import STEP, FluidNetwork, FluidOutcome, run_fluid

G40 = 40 * 10**9
US, MS = 10**6, 10**9
AZURE = DcqcnParameters(k_min=10**6, k_max=2 * 10**6, p_max=0.05)
"""Sparse marking for links between regions: Kmin 1 MB, Kmax 2 MB, Pmax 5 %."""


def one_link(
    delays: list[int],
    parameters: DcqcnParameters | None = None,
    *,
    duration: int = 200 * MS,
    starts: list[int] | None = None,
    sizes: list[int] | None = None,
) -> FluidOutcome:
    flows = len(delays)
    network = FluidNetwork(
        np.array([G40]),
        np.arange(flows + 1),
        np.zeros(flows, np.int64),
        np.array(delays),
        starts=None if starts is None else np.array(starts),
        sizes=None if sizes is None else np.array(sizes),
    )
    return run_fluid(network, parameters, duration=duration)


@pytest.mark.parametrize(
    ("flows", "exact", "estimate"),
    [(2, 20.2, 23.0), (4, 41.8, 50.2), (8, 93.8, 118.7), (10, 122.6, 158.0)],
)
def test_fixed_point_at_40g_with_the_published_parameters(
    flows: int, exact: float, estimate: float
) -> None:
    """Queues in KB, derived independently from the model: 1000 B packets, tau 50 us, T 55 us."""
    rest = fixed_point(DcqcnParameters(), G40, flows)
    assert rest is not None
    assert rest.queue / 1000 == pytest.approx(exact, abs=0.05)
    assert cube_root_estimate(DcqcnParameters(), G40, flows) / 1000 == pytest.approx(
        estimate, abs=0.05
    )
    assert rest.queue == ramp_queue(DcqcnParameters(), rest.probability)
    assert rest.target > G40 / flows


def test_above_fourteen_flows_the_ramp_ends() -> None:
    assert fixed_point(DcqcnParameters(), G40, 14) is not None
    assert fixed_point(DcqcnParameters(), G40, 15) is None
    wider = DcqcnParameters(p_max=0.02)
    assert fixed_point(wider, G40, 15) is not None


@pytest.mark.numba
@pytest.mark.parametrize("flows", [2, 4, 8, 10])
def test_the_fluid_comes_to_rest_at_the_fixed_point(flows: int) -> None:
    outcome = one_link([4 * US] * flows)
    rest = fixed_point(DcqcnParameters(), G40, flows)
    assert rest is not None
    assert outcome.error < 0.001
    assert outcome.queue_mean[0] == pytest.approx(rest.queue, rel=0.01)
    assert outcome.rate_mean == pytest.approx(G40 / flows, rel=0.001)


@pytest.mark.numba
def test_flows_of_2_us_and_1770_us_get_alike_shares() -> None:
    """As between Azure's regions: rates do not depend on the round trip, as windows would."""
    outcome = one_link([2 * US, 1770 * US], AZURE, duration=1000 * MS)
    mean = outcome.rate_mean.mean()
    assert outcome.error < 0.001
    assert outcome.rate_mean == pytest.approx(mean, rel=0.10)
    assert mean == pytest.approx(17e9, rel=0.10)  # about 17 Gb/s each were measured


@pytest.mark.numba
def test_a_late_flow_gets_its_share() -> None:
    outcome = one_link([4 * US] * 2, duration=400 * MS, starts=[0, 50 * MS])
    early = outcome.rates[: len(outcome.rates) // 10]
    assert bool((early[:, 1] == 0).all())
    assert outcome.rate_mean == pytest.approx(G40 / 2, rel=0.01)


@pytest.mark.numba
def test_a_flow_alone_runs_at_line_rate_and_ends_when_it_is_sent() -> None:
    outcome = one_link([4 * US], duration=10 * MS, sizes=[10**7])
    assert outcome.finish.tolist() == pytest.approx([10**7 * 8 * 10**12 // G40], abs=2)
    assert outcome.queues.max() == 0
    assert outcome.error == 0


@pytest.mark.numba
def test_what_flows_leave_behind_is_theirs_to_take() -> None:
    """Two links in a row: the crossing flow and each link's own one; no link is overfull."""
    network = FluidNetwork(
        np.array([G40, G40]), np.array([0, 2, 3, 4]), np.array([0, 1, 0, 1]), np.full(3, 4 * US)
    )
    outcome = run_fluid(network, duration=400 * MS)
    through, first, second = outcome.rate_mean.tolist()
    assert first == pytest.approx(second)
    assert through + first == pytest.approx(G40, rel=0.001)
    assert through < first


@pytest.mark.numba
@pytest.mark.parametrize(
    "change",
    [
        {"delays": [-1]},
        {"starts": [1, 2]},
        {"parameters": DcqcnParameters(k_min=10, k_max=10)},
        {"parameters": DcqcnParameters(p_max=0.0)},
        {"duration": 1},
        {"duration": 2 * STEP - 1},
        {"duration": 10**18},
        {"delays": [10**15]},
    ],
)
def test_what_cannot_be_integrated_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InputError) as caught:
        one_link(**{"delays": [US], **change})
    assert caught.value.code == "CTB-S061"
