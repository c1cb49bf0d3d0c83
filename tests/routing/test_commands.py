"""`route path`: what it says of one flow."""

import pytest

from ctestbed.core.errors import InputError
from ctestbed.core.result import UNKNOWN
from ctestbed.routing.commands import PathRequest, run_path


def test_a_path_across_campuses_adds_its_cables_up() -> None:
    result = run_path(PathRequest("two-campus-150km", "0", "1024"))
    data = result.data
    assert (data["source"], data["destination"]) == ("east/h000/nic-0", "west/h000/nic-0")
    assert [hop["source"] for hop in data["hops"]][1:] == [hop["target"] for hop in data["hops"]][
        :-1
    ]
    assert data["hops"][0]["source"] == "east/h000/nic-0"
    assert data["hops"][-1]["target"] == "west/h000/nic-0"
    assert data["delay"] == 150 * 5_000_000 + 4 * 1_000_000
    assert data["candidates"] == 4 * 8 * 8
    metrics = {metric.name: metric.value for metric in result.metrics}
    assert metrics == {"path.hops": 5, "path.delay": 754_000_000}


def test_names_and_numbers_name_the_same_endpoints() -> None:
    by_number = run_path(PathRequest("lab-128", "3", "127")).data
    by_name = run_path(PathRequest("lab-128", by_number["source"], by_number["destination"])).data
    assert by_number == by_name
    assert len(by_number["hops"]) == 4


def test_the_testbed_s_seed_is_the_default() -> None:
    def hops(seed: int | None, label: int = 0) -> list[int]:
        request = PathRequest("lab-128", "0", "127", "ecmp", seed, label)
        return [hop["link"] for hop in run_path(request).data["hops"]]

    assert hops(None) == hops(1)
    assert len({tuple(hops(seed)) for seed in range(20)}) > 3
    assert len({tuple(hops(1, label)) for label in range(20)}) > 3


def test_an_unknown_delay_is_not_added() -> None:
    result = run_path(PathRequest("kunlun-32k", "0", "32764"))
    assert result.data["delay"] == UNKNOWN
    assert {hop["delay"] for hop in result.data["hops"]} == {UNKNOWN}
    assert {hop["rate"] for hop in result.data["hops"]} == {400 * 10**9}
    assert result.metrics[1].value == UNKNOWN


@pytest.mark.parametrize(
    ("source", "destination", "code"),
    [
        ("5", "5", "CTB-R003"),
        ("5", "h005", "CTB-R003"),
        ("0", "128", "CTB-T020"),
        ("0", "-1", None),
        ("0", "leaf-00", "CTB-T021"),
        ("0", "", None),
    ],
)
def test_ends_that_are_no_two_endpoints(source: str, destination: str, code: str | None) -> None:
    with pytest.raises(InputError) as caught:
        run_path(PathRequest("lab-128", source, destination))
    assert code is None or caught.value.code == code
    assert caught.value.hint
