"""Ctrl-C in a packet run: what had happened is kept, and marked as not the whole."""

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from ctestbed.core.errors import ExitCode
from ctestbed.core.interrupt import wish_to_stop
from ctestbed.transport.packet.reference import Simulation
from ctestbed.workload.packet_transfer import PacketTransferRequest, run_packet_transfer


@pytest.fixture(autouse=True)
def _heeds_ctrl_c() -> Iterator[None]:
    """A job that was started in the background ignores it, as its children do."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press_ctrl_c(*_: Any) -> None:
    os.kill(os.getpid(), signal.SIGINT)


def check_partial(result: Any) -> None:
    assert result.exit_code == ExitCode.INTERRUPTED
    assert not result.complete
    assert [finding.code for finding in result.findings] == ["CTB-S130"]
    figures = {metric.name: metric.value for metric in result.metrics}
    assert figures["flows.unfinished"] == 8
    assert figures["packet_hops.data"] > 0


def test_the_plain_engine_stops_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    arrive = Simulation._arrive
    count = 0

    def counted(simulation: Simulation, *args: Any) -> None:
        nonlocal count
        count += 1
        if count == 1000:
            press_ctrl_c()
        arrive(simulation, *args)

    monkeypatch.setattr(Simulation, "_arrive", counted)
    request = PacketTransferRequest("lab-128", "incast:8", "40MB", engine="reference")
    check_partial(run_packet_transfer(request))
    assert count <= 1001
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.numba
def test_the_compiled_engine_stops_after_its_slice() -> None:
    request = PacketTransferRequest("lab-128", "incast:8", "20GB", engine="packet")
    check_partial(run_packet_transfer(request, press_ctrl_c))


def test_a_second_ctrl_c_is_raised() -> None:
    with wish_to_stop() as wish:
        press_ctrl_c()
        assert wish.stop
        with pytest.raises(KeyboardInterrupt):
            press_ctrl_c()


def test_a_job_in_the_background_goes_on_ignoring_it() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with wish_to_stop() as wish:
        press_ctrl_c()
        assert not wish.stop
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
