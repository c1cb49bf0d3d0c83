"""The real GB200 record with one more fault each: that one is added to what was there before."""

from collections import Counter

import numpy as np
import pytest

from ctestbed.topology.asbuilt.deviations import Deviation
from ctestbed.topology.asbuilt.structure import judge
from ctestbed.topology.cabling import Cabling, infer_roles
from ctestbed.topology.importing import parse_cabling
from tests.shared import shared_data
from tests.topology.asbuilt.fabrics import columns, swapped, with_cables

GB200 = "fabric/third-party/topograph/ibnetdiscover-example.out"

LEAF = 'Switch\t65 "S-2c5eab0300b87b40"'
UPLINK = '[35]\t"S-2c5eab0300c26280"[32]'
HOST = '[1]\t"H-e09d7303007a4bd8"[1]'


def text() -> str:
    return shared_data(GB200).read_text()


def judged(content: str | Cabling) -> Counter[tuple[str, str, str | None, int]]:
    cabling = content
    if isinstance(content, str):
        cabling, _ = parse_cabling(content.encode(), "gb200.out")
    assert isinstance(cabling, Cabling)
    inference, found = judge(cabling)
    every: list[Deviation] = [*found.deviations, *inference.deviations]
    return Counter((d.kind, d.a, d.b, d.count) for d in every)


def test_a_port_that_only_the_leaf_states_is_one_sided_and_not_missing() -> None:
    record = text()
    answer = next(
        line for line in record.splitlines() if line.startswith('[32]\t"S-2c5eab0300b87b40"[35]')
    )
    after = judged(record.replace(answer + "\n", "", 1))
    (added,) = (after - judged(record)).items()
    assert added[0][0] == "one-sided"
    assert judged(record) - after == Counter()


@pytest.mark.parametrize(("port", "word"), [(UPLINK, "IBSPINE-02"), (HOST, "c01 mlx5_5")])
def test_one_slow_cable_is_added_as_slow(port: str, word: str) -> None:
    before, mark, after = text().partition(LEAF)
    line = next(line for line in after.splitlines() if line.startswith(port))
    changed = before + mark + after.replace(line, line.replace("4xNDR", "4xHDR"), 1)
    (added,) = (judged(changed) - judged(text())).items()
    kind, a, b, count = added[0]
    assert (kind, count) == ("slow", 1)
    assert word in a + (b or "")
    assert "A09-P1-IBLEAF-04-04" in a + (b or "")


def test_a_host_on_the_leaf_of_another_rail_is_added_as_wrong_rail() -> None:
    cabling, _ = parse_cabling(text().encode(), "gb200.out")
    nic = cabling.index["b05-p1-dgx-05-c03 HCA-2"]
    wrong = cabling.index["B09-P1-IBLEAF-03-05"]
    table = columns(cabling)
    row = int(np.flatnonzero((table["a"] == nic) | (table["b"] == nic))[0])
    end = "a" if table["b"][row] == nic else "b"
    table[end][row], table[f"{end}_port"][row] = wrong, -1
    (added,) = (judged(with_cables(cabling, table)) - judged(cabling)).items()
    assert added[0] == ("wrong-rail", "b05-p1-dgx-05-c03 HCA-2", "B09-P1-IBLEAF-03-05", 1)


def test_uplinks_of_two_leaves_exchanged_are_added_as_one_swap() -> None:
    cabling, _ = parse_cabling(text().encode(), "gb200.out")
    tier = infer_roles(cabling).tier
    a, b = cabling.cables.a, cabling.cables.b
    full = [
        row
        for row in range(len(cabling.cables))
        if tier[a[row]] == 1
        and tier[b[row]] == 2
        and cabling.devices[int(a[row])].name in {"A09-P1-IBLEAF-02-02", "B09-P1-IBLEAF-04-08"}
    ]
    first = full[0]
    second = next(row for row in full if a[row] != a[first] and b[row] != b[first])
    added = judged(swapped(cabling, first, second)) - judged(cabling)
    assert [item[0] for item in added] == ["swapped"]


def test_a_lost_host_adapter_is_added_as_missing() -> None:
    record = text()
    cabling, _ = parse_cabling(record.encode(), "gb200.out")
    nic = cabling.index["b05-p1-dgx-05-c03 HCA-2"]
    table = columns(cabling)
    row = np.flatnonzero((table["a"] == nic) | (table["b"] == nic))
    table = {name: np.delete(column, row) for name, column in table.items()}
    (added,) = (judged(with_cables(cabling, table)) - judged(cabling)).items()
    assert added[0][0] == "missing"
    assert added[0][2] == "B09-P1-IBLEAF-02-05"


def test_a_management_host_on_a_spine_does_not_make_it_a_leaf() -> None:
    cabling, _ = parse_cabling(text().encode(), "gb200.out")
    nics = [cabling.index[f"ubuntu mlx5_{n}"] for n in range(2)]
    spine = cabling.index["A10-P1-IBSPINE-02"]
    table = columns(cabling)
    for nic in nics:
        row = int(np.flatnonzero((table["a"] == nic) | (table["b"] == nic))[0])
        table["a" if table["b"][row] == nic else "b"][row] = spine
    inference, _ = judge(with_cables(cabling, table))
    assert [len(inference.of_tier(tier)) for tier in (1, 2)] == [31, 9]
    assert judged(with_cables(cabling, table)) == judged(cabling)


def test_a_leaf_without_any_host_stays_a_leaf() -> None:
    cabling, _ = parse_cabling(text().encode(), "gb200.out")
    leaf = cabling.index["B09-P1-IBLEAF-04-05"]
    tier = infer_roles(cabling).tier
    table = columns(cabling)
    below = ((table["a"] == leaf) & (tier[table["b"]] == 0)) | (
        (table["b"] == leaf) & (tier[table["a"]] == 0)
    )
    table = {name: column[~below] for name, column in table.items()}
    inference, _ = judge(with_cables(cabling, table))
    assert [len(inference.of_tier(tier)) for tier in (1, 2)] == [31, 9]
    assert inference.layers[0].votes()[:2] == (2, 263)
