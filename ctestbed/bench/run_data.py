"""The data of `bench run`, for a testbed and for a benchmark."""

from typing import Literal, TypeAlias

from typing_extensions import TypedDict

from ctestbed.attestation.commands import VerifyData
from ctestbed.bench.expectations import Expectation
from ctestbed.routing.commands import PathData
from ctestbed.topology.commands import CheckData
from ctestbed.topology.describe import Counts
from ctestbed.workload.headroom import HeadroomData


class TransferSummary(TypedDict):
    """One transfer: bytes per flow, completion times in ps (or UNKNOWN), flows never finished.

    `fct_curve` are completion times at 0, 5, ... 100 % of the flows, for a plot.
    """

    name: str
    pattern: str
    spread: str
    size: int
    flows: int
    unfinished: int
    fct_min: int | str
    fct_p50: int | str
    fct_p99: int | str
    fct_max: int | str
    goodput_total: int | str
    fct_curve: list[int]


class ConfidentialData(TypedDict):
    """The VM that was launched and attested. Views are the first bytes of guest page 0, in hex."""

    platform: str
    memory: int
    image_size: int
    measurement: str
    policy: int
    host_view: str
    guest_view: str
    attestation: VerifyData


class TestbedRunData(TypedDict):
    """Data of `bench run TESTBED`; a part is null or empty where the file does not ask for it."""

    kind: Literal["testbed"]
    name: str
    title: str
    seed: int
    sources: list[str]
    assumptions: list[str]
    counts: Counts | None
    checks: list[CheckData]
    routes: list[PathData]
    headroom: HeadroomData | None
    transfers: list[TransferSummary]
    confidential: ConfidentialData | None
    verdict: str | None
    root_class: str | None
    expectations: list[Expectation]


class BenchmarkRunData(TypedDict):
    """Data of `bench run BENCHMARK`; the figures are its metrics."""

    kind: Literal["benchmark"]
    name: str
    title: str
    method: str


RunData: TypeAlias = TestbedRunData | BenchmarkRunData
"""Data of `ctestbed.bench.run/1`; `kind` tells which of the two it is."""
