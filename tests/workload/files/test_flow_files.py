"""Files of flows: real ones, round trips, and hostile ones."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctestbed.core.errors import ExitCode, InputError
from ctestbed.workload.files.record import FlowFile, Labels, SwitchCut, check_endpoints
from ctestbed.workload.files.registry import FORMATS, dump_flows, load_flows, parse_flows
from ctestbed.workload.flows import Flows, Waits
from tests.shared import shared_data

CM = """Nodes 4
Connections 5
Triggers 3
Failures 1
# a comment
0->1 id 1 start 5 size 1000 send_done_trigger 1
1->2 id 2 start 0 size 2000 prio 7 recv_done_trigger 2
2->3 id 3 trigger 1 size 3000 recv_done_trigger 2

3->0 id 4 trigger 2 size 4000 send_done_trigger 3
0->2 id 5 trigger 3 size 5000
trigger id 1 oneshot
trigger id 2 barrier count 2
trigger id 3 oneshot
failure switch_type AGG switch_id 3 link_id 1
"""


def parse(text: str, name: str = "flows") -> FlowFile:
    return parse_flows(text.encode(), name, lambda text: {"east": 0, "west": 1}[text])


def pairs(file: FlowFile) -> list[tuple[int, int]]:
    return list(zip(file.flows.source.tolist(), file.flows.destination.tolist(), strict=True))


# --- real files


def test_the_published_incast() -> None:
    """S1 as htsim's users write it: hosts 1, 5, ..., 125 to host 0, 1 MB each."""
    file = load_flows(str(shared_data("fabric/measured/incast32_128.cm")))
    assert (file.format, file.nodes, len(file.flows)) == ("htsim-cm", 128, 32)
    assert pairs(file) == [(sender, 0) for sender in range(1, 126, 4)]
    assert file.flows.common_size == 10**6
    assert file.flows.total == 32 * 10**6
    assert file.labels.ids.tolist() == list(range(1, 33))


@pytest.mark.parametrize(
    ("name", "hosts"), [("perm_128n_128c_2MB", 128), ("perm_1024n_1024c_0u_2000000b", 1024)]
)
def test_the_published_permutations(name: str, hosts: int) -> None:
    file = load_flows(str(shared_data(f"fabric/third-party/htsim/{name}.cm")))
    assert file.nodes == hosts == len(file.flows)
    assert sorted(file.flows.source.tolist()) == list(range(hosts))
    assert sorted(file.flows.destination.tolist()) == list(range(hosts))
    assert file.flows.common_size == 2 * 10**6


def test_hpcc_s_own_flow_list_ends_at_its_count() -> None:
    """Two flows; the further lines of the file are examples and prose."""
    file = load_flows(str(shared_data("fabric/third-party/ns3-hpcc/flow.txt")))
    assert (file.format, pairs(file)) == ("hpcc-flow", [(2, 1), (3, 1)])
    assert file.flows.starts.tolist() == [2 * 10**12] * 2
    assert file.flows.classes.tolist() == [3, 3]
    assert file.labels.ports.tolist() == [100, 100]
    assert file.flows.common_size == 2 * 10**8


# --- what the lines mean


def test_a_connection_matrix_with_triggers_and_failures() -> None:
    file = parse(CM)
    flows = file.flows
    assert pairs(file) == [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]
    assert flows.sizes.tolist() == [1000, 2000, 3000, 4000, 5000]
    assert flows.starts.tolist() == [5, 0, 0, 0, 0]
    assert file.lines.tolist() == [6, 7, 8, 10, 11]
    assert file.labels.priorities.tolist() == [-1, 7, -1, -1, -1]
    assert file.cuts == (SwitchCut("AGG", 3, 1, 15),)
    assert flows.after is not None
    assert [flows.after.of(flow) for flow in range(5)] == [[], [], [0], [1, 2], [3]]
    assert flows.after.needs.tolist() == [0, 0, 1, 2, 1]
    assert flows.after.receipt.tolist() == [False, True, True, False]


def test_multishot_starts_one_flow_at_each_firing() -> None:
    text = """Nodes 9
Connections 5
Triggers 1
0->1 id 1 start 0 size 1 send_done_trigger 4
1->2 id 2 start 0 size 1 send_done_trigger 4
2->3 id 3 start 0 size 1 send_done_trigger 4
3->4 id 4 trigger 4 size 1
3->5 id 5 trigger 4 size 1
trigger id 4 multishot
"""
    waits = parse(text).flows.after
    assert waits is not None
    assert waits.needs.tolist() == [0, 0, 0, 1, 2]
    assert waits.of(3) == waits.of(4) == [0, 1, 2]


def test_messages_of_one_connection_share_its_id() -> None:
    text = "Nodes 2\nConnections 3\n" + "0->1 id 1 msg start 0 size 40860\n" * 2
    file = parse(text + "0->1 id 1 msg 9 start 0 size 5\n")
    assert file.labels.messages.tolist() == [0, 0, 9]


def test_a_trigger_that_starts_nothing_is_noted() -> None:
    text = "Nodes 2\nConnections 1\nTriggers 1\n0->1 id 1 start 0 size 1 send_done_trigger 3\n"
    (note,) = parse(text + "trigger id 3 oneshot\n").notes
    assert (note.code, note.severity, note.message) == (
        "CTB-S041", "note", "trigger 3 starts no flow"
    )  # fmt: skip


def test_a_table_takes_units_names_and_waits() -> None:
    text = """dst;src;size;start;id;after;after_receipt;needs;class
west;east;2MB;10us;7;;;;
0;1;1KiB;;9;7;;;3
1;0;1B;1us;;;7 9;1;
"""
    file = parse(text)
    flows = file.flows
    assert pairs(file) == [(0, 1), (1, 0), (0, 1)]
    assert flows.sizes.tolist() == [2 * 10**6, 1024, 1]
    assert flows.starts.tolist() == [10**7, 0, 10**6]
    assert flows.classes.tolist() == [0, 3, 0]
    assert flows.after is not None
    assert [flows.after.of(flow) for flow in range(3)] == [[], [0], [0, 1]]
    assert flows.after.receipt.tolist() == [False, True, True]
    assert flows.after.needs.tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("text", "ps"),
    [("0", 0), ("2", 2 * 10**12), ("0.000001", 10**6), ("1.000000000001", 10**12 + 1)],
)
def test_seconds_are_exact(text: str, ps: int) -> None:
    assert parse(f"1\n0 1 3 100 5 {text}\n").flows.starts.tolist() == [ps]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_ends_of_either_kind(end: str) -> None:
    assert pairs(parse(CM.replace("\n", end))) == pairs(parse(CM))


def test_hosts_beyond_the_testbed_are_named() -> None:
    file = parse("Nodes 300\nConnections 2\n0->1 start 0 size 1\n2->200 start 0 size 1\n")
    check_endpoints(file, 201, "lab")
    with pytest.raises(InputError) as caught:
        check_endpoints(file, 128, "lab")
    assert caught.value.code == "CTB-S037"
    assert "destination 200 of the flow of line 4 is no endpoint of lab" in caught.value.message
    assert (caught.value.where.line, caught.value.where.pointer) == (4, "destination")  # type: ignore[union-attr]


# --- round trips


@st.composite
def some_flows(draw: st.DrawFn, *, waits: bool = True, classes: bool = True) -> Flows:
    count = draw(st.integers(1, 12))
    ends = st.integers(0, 40)
    source = draw(st.lists(ends, min_size=count, max_size=count))
    apart = draw(st.lists(st.integers(1, 40), min_size=count, max_size=count))
    groups = [
        draw(st.lists(st.integers(0, flow - 1), max_size=3, unique=True)) if waits and flow else []
        for flow in range(count)
    ]
    after = Waits.all_of(groups) if any(groups) else None
    if after is not None:
        after.receipt[:] = draw(
            st.lists(st.booleans(), min_size=len(after.flows), max_size=len(after.flows))
        )
        after.needs[:] = [draw(st.integers(min(1, len(g)), len(g))) for g in groups]
    starts = draw(st.lists(st.integers(0, 2**50), min_size=count, max_size=count))
    drawn = draw(st.lists(st.integers(0, 7), min_size=count, max_size=count))
    return Flows(
        np.array(source),
        (np.array(source) + np.array(apart)) % 41,
        np.array(draw(st.lists(st.integers(1, 2**40), min_size=count, max_size=count))),
        np.array(starts),
        np.array(drawn if classes else [0] * count, np.int8),
        after,
    )


def alike(one: Flows, other: Flows) -> None:
    for name in ("source", "destination", "sizes", "starts", "classes"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert (one.after is None) == (other.after is None)
    for name in ("offsets", "flows", "receipt", "needs") if one.after is not None else ():
        mine: Any = getattr(one.after, name)
        np.testing.assert_array_equal(mine, getattr(other.after, name))


def ordered(flows: Flows) -> Flows:
    """Return the flows with each one's waits in the order that tables keep: senders first."""
    if flows.after is None:
        return flows
    waits = flows.after
    of = np.repeat(np.arange(len(flows)), np.diff(waits.offsets))
    order = np.lexsort((np.arange(len(of)), waits.receipt, of))
    after = Waits(waits.offsets, waits.flows[order], waits.receipt[order], waits.needs)
    return Flows(flows.source, flows.destination, flows.sizes, flows.starts, flows.classes, after)


@given(some_flows())
def test_a_table_reads_back(flows: Flows) -> None:
    alike(ordered(parse(dump_flows(flows, "csv", nodes=41)).flows), ordered(flows))


@given(some_flows(waits=False))
def test_a_flow_list_reads_back_in_order_of_starts(flows: Flows) -> None:
    order = np.argsort(flows.starts, kind="stable")
    sorted_flows = Flows(
        flows.source[order],
        flows.destination[order],
        flows.sizes[order],
        flows.starts[order],
        flows.classes[order],
    )
    text = dump_flows(flows, "hpcc-flow", nodes=41)
    alike(parse(text).flows, sorted_flows)
    assert dump_flows(parse(text).flows, "hpcc-flow", nodes=41) == text


@given(some_flows(classes=False))
def test_a_connection_matrix_reads_back_or_says_why_not(flows: Flows) -> None:
    try:
        text = dump_flows(flows, "htsim-cm", nodes=41)
    except InputError as error:
        assert error.code == "CTB-S044"
        assert flows.after is not None
        return
    alike(parse(text).flows, flows)


def test_labels_and_failures_read_back() -> None:
    file = parse(CM)
    text = dump_flows(file.flows, "htsim-cm", nodes=4, labels=file.labels, cuts=file.cuts)
    again = parse(text)
    alike(again.flows, file.flows)
    for name in ("ids", "messages", "priorities"):
        np.testing.assert_array_equal(getattr(again.labels, name), getattr(file.labels, name))
    assert [(cut.tier, cut.switch, cut.link) for cut in again.cuts] == [("AGG", 3, 1)]


def test_what_a_format_cannot_say_is_refused() -> None:
    together = Flows.together(np.array([0]), np.array([1]), 5)
    classes = replace(together, classes=np.array([3], np.int8))
    waiting = parse(CM).flows
    for flows, form in ((classes, "htsim-cm"), (waiting, "hpcc-flow")):
        with pytest.raises(InputError) as caught:
            dump_flows(flows, form, nodes=4)
        assert caught.value.code == "CTB-S044"
    with pytest.raises(InputError) as caught:
        dump_flows(together, "cvs", nodes=4)
    assert (caught.value.code, caught.value.hint) == ("CTB-S034", "did you mean `csv`?")
    twice = Labels.none(2)
    twice.ids[:] = 1
    with pytest.raises(InputError, match="messages of one connection"):
        dump_flows(
            Flows.together(np.array([0, 1]), np.array([1, 0]), 5), "csv", nodes=2, labels=twice
        )


# --- hostile files

HEAD = "Nodes 4\nConnections 1\n"
TWO = "Nodes 4\nConnections 2\n"
SELF = """Nodes 4
Connections 2
Triggers 1
0->1 id 1 trigger 1 size 5 send_done_trigger 1
1->2 id 2 start 0 size 5
trigger id 1 oneshot
"""
EACH_OTHER = """Nodes 4
Connections 2
Triggers 2
0->1 id 1 trigger 1 size 5 send_done_trigger 2
1->2 id 2 trigger 2 size 5 send_done_trigger 1
trigger id 1 oneshot
trigger id 2 oneshot
"""


@pytest.mark.parametrize(
    ("text", "code", "line", "says"),
    [
        # not a file of flows at all
        ("hello\n", "CTB-S034", 1, "is no file of flows"),
        ("Nodes\n", "CTB-S035", 1, "'Nodes' is not the only `Nodes N`"),
        ("", "CTB-T101", None, "is empty"),
        ("\n\n", "CTB-T101", None, "is empty"),
        # counts
        (TWO + "0->1 start 0 size 1\n", "CTB-S036", 3, "announces 2 connections and holds 1"),
        (CM.replace("Triggers 3", "Triggers 4"), "CTB-S036", 15, "4 triggers and holds 3"),
        (CM.replace("Failures 1\n", ""), "CTB-S036", 14, "announces 0 failures and holds 1"),
        ("Nodes 4\nConnections 0\n", "CTB-S036", None, "holds no flow"),
        ("Nodes 4\nConnections 99999999999999999999\n", "CTB-S035", 2, "not a whole number"),
        ("Nodes 4\nConnections 4194305\n", "CTB-S012", 2, "is the most that is run at once"),
        ("4194305\n", "CTB-S012", 1, "is the most that is run at once"),
        ("5\n0 1 3 100 5 1\n", "CTB-S036", 1, "announces 5 flows and holds 1"),
        ("Nodes 4\nNodes 5\n", "CTB-S035", 2, "is not the only `Nodes N`"),
        ("Nodes 4\n0->1 start 0 size 1\n", "CTB-S035", 2, "is not a count"),
        # fields
        (HEAD + "0->1 start 0\n", "CTB-S035", 3, "is not a flow with a size"),
        (HEAD + "0->1 size 5\n", "CTB-S035", 3, "one way to start"),
        (HEAD + "0->1 start 0 trigger 1 size 5\n", "CTB-S035", 3, "one way to start"),
        (HEAD + "0->1 start 0 size\n", "CTB-S035", 3, "size '' is not a value"),
        (HEAD + "0->1 start size 5\n", "CTB-S035", 3, "start 'size' is not a value"),
        (HEAD + "0->1 start 0 size 5 size 6\n", "CTB-S035", 3, "`size` comes twice"),
        (HEAD + "0->1 start 0 size -5\n", "CTB-S035", 3, "size '-5' is not a whole number"),
        (HEAD + "0->1 start 0.5 size 5\n", "CTB-S035", 3, "start '0.5' is not a whole number"),
        (HEAD + "0->1 start 1e3 size 5\n", "CTB-S035", 3, "start '1e3' is not a whole number"),
        (HEAD + "0->1 start nan size 5\n", "CTB-S035", 3, "start 'nan'"),
        (HEAD + "0->1 start ٣ size 5\n", "CTB-S035", 3, "start '٣'"),
        (HEAD + "0->1 start 0 size 0\n", "CTB-S013", 3, "the flow of line 3 has no bytes"),
        (HEAD + "0->1 id 0 start 0 size 1\n", "CTB-S035", 3, "ids count from 1"),
        (HEAD + "0->1 start 0 sise 5\n", "CTB-S035", 3, "made of known words: 'sise'"),
        (HEAD + "0 -> 1 start 0 size 5\n", "CTB-S035", 3, "not a flow, a trigger or a failure"),
        (HEAD + "0->x start 0 size 5\n", "CTB-S035", 3, "'0->x' is not two host numbers"),
        (HEAD + "0->-1 start 0 size 5\n", "CTB-S035", 3, "'0->-1' is not two host numbers"),
        (HEAD + "2->2 id 3 start 0 size 5\n", "CTB-S038", 3, "flow 3 sends to itself"),
        (HEAD + "0->4 start 0 size 5\n", "CTB-S037", 3, "destination 4 is no host: the file has 4"),
        (HEAD + "0->1 start 99999999999999999999 size 5\n", "CTB-S035", 3, "start"),
        # ids and triggers
        (TWO + "0->1 id 3 start 0 size 5\n" * 2, "CTB-S040", 4, "line 3 has it too"),
        (TWO + "0->1 id 3 msg 2 start 0 size 5\n" * 2, "CTB-S040", 4, "line 3 has it too"),
        (HEAD + "0->1 trigger 1 size 5\n", "CTB-S041", 3, "trigger 1 is used, and no"),
        ("Nodes 4\nConnections 1\nTriggers 1\n0->1 trigger 1 size 5\ntrigger id 1 oneshot\n",
         "CTB-S041", 5, "trigger 1 is never fired"),
        (CM.replace("count 2", "count 3"), "CTB-S041", 13, "waits for 3 firings, and 2 flows"),
        (CM.replace("count 2", "count 1"), "CTB-S041", 13, "waits for 1 firings, and 2 flows"),
        (CM.replace("barrier count 2", "oneshot"), "CTB-S041", 13, "is oneshot, and 2 flows fire"),
        (CM.replace("trigger id 2", "trigger id 1"), "CTB-S040", 13, "trigger 1 is defined al"),
        (CM.replace("id 1 oneshot", "id 1"), "CTB-S035", 12, "one id and one kind"),
        (CM.replace("1 oneshot", "1 oneshot barrier"), "CTB-S035", 12, "one id and one kind"),
        (SELF, "CTB-S042", 4, "1 of 2 flows can never start: flow 1 waits for flow 1"),
        (EACH_OTHER, "CTB-S042", 4, "flow 1 waits for flow 2 waits for flow 1"),
        # failures
        (CM.replace("AGG", "SPINE"), "CTB-S035", 15, "switch_type 'SPINE' is not TOR, AGG or CORE"),
        (CM.replace(" link_id 1", ""), "CTB-S035", 15, "not a whole failure"),
        # flow lists
        ("x\n", "CTB-S034", 1, "is no file of flows"),
        ("1\n0 1 3 100 5\n", "CTB-S035", 2, "not a flow of six fields"),
        ("1\n0 1 8 100 5 0\n", "CTB-S035", 2, "class '8'"),
        ("1\n0 1 3 70000 5 0\n", "CTB-S035", 2, "port '70000'"),
        ("1\n0 1 3 100 0 0\n", "CTB-S013", 2, "has no bytes"),
        ("1\n1 1 3 100 5 0\n", "CTB-S038", 2, "sends to itself"),
        ("1\n0 1 3 100 5 -1\n", "CTB-S035", 2, "start '-1' is not seconds"),
        ("1\n0 1 3 100 5 0.0000000000001\n", "CTB-S035", 2, "to the picosecond at most"),
        ("1\n0 1 3 100 5 9999999\n", "CTB-S035", 2, "start '9999999' is not at most"),
        ("2\n0 1 3 100 5 2\n0 1 3 100 5 1\n", "CTB-S035", 3, "starts ascend"),
        # tables
        ("source,destination,bytes,colour\n", "CTB-S035", 1, "column 'colour' means nothing"),
        ("source,destination,bytes,size\n", "CTB-S035", 1, "says each thing once"),
        ("source,destination,bytes,bytes\n", "CTB-S035", 1, "says each thing once"),
        ("source,destination,bytes\n", "CTB-S036", None, "holds no flow"),
        ("source,destination,bytes\n0,1\n", "CTB-S035", 2, "a row of 3 fields: it has 2"),
        ('source,destination,bytes\n0,1,"5\n', "CTB-S035", 2, "its quotes do not close"),
        ("source,destination,bytes\n0,1,\n", "CTB-S035", 2, "bytes '' is not a whole number"),
        ("source,destination,bytes\n0,1,1.5\n", "CTB-S035", 2, "bytes '1.5'"),
        ("source,destination,size\n0,1,5\n", "CTB-C003", 2, "size '5' has no unit"),
        ("source,destination,bytes,id\n0,1,5,0\n", "CTB-S035", 2, "ids count from 1"),
        ("source,destination,bytes,id\n0,1,5,2\n1,0,5,2\n", "CTB-S040", 3, "line 2 has it too"),
        ("source,destination,bytes,id,after\n0,1,5,2,9\n", "CTB-S035", 2, "after '9' is not"),
        ("source,destination,bytes,id,after\n0,1,5,2,2\n", "CTB-S042", 2, "can never start"),
        ("src,dst,bytes,id,after,needs\n0,1,5,1,,\n0,1,5,2,1,2\n", "CTB-S035", 3, "is not 1 to 1"),
        ("source,destination,bytes,needs\n0,1,5,1\n", "CTB-S035", 2, "waits for nothing"),
    ],
)  # fmt: skip
def test_hostile_text(text: str, code: str, line: int | None, says: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text)
    error = caught.value
    assert (error.code, says in error.message) == (code, True), error.message
    assert error.exit_code == ExitCode.INPUT
    assert error.where is not None
    assert (error.where.file, error.where.line) == ("flows", line)
    assert error.hint


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"Nodes 4\nConnections 1\n0->1 start 0 size \xff5\n", "CTB-T110"),
        (b"Nodes 4\r\nConnections 1\n0->1 start 0 size 5\n", "CTB-T109"),
        (b"Nodes 4\rConnections 1\r0->1 start 0 size 5\r", "CTB-T109"),
        (b"Nodes 4\nConnections 1\n0->1 start 0 size 5\x00\n", "CTB-T110"),
    ],
)
def test_hostile_bytes(content: bytes, code: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_flows(content, "flows")
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"\n" * (2**23 + 1), "CTB-S012"),
        (b"Nodes 2\n" + b"0 " * 2**20, "CTB-S034"),
        (b"1 " * 2**20, "CTB-S034"),
    ],
)
def test_vast_files_are_refused_before_they_are_taken_apart(content: bytes, code: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_flows(content, "flows")
    assert caught.value.code == code


@given(st.integers(0, len(CM) - 1))
def test_a_matrix_cut_anywhere_is_refused_or_whole(cut: int) -> None:
    try:
        file = parse(CM[:cut])
    except InputError:
        return
    assert len(file.flows) == 5
    assert cut >= len(CM) - 2  # the last line is whole but for its end, or its digit


@given(
    st.text(max_size=80),
    st.sampled_from(["", "Nodes 2\nConnections 1\n", "1\n", "source,destination,bytes\n"]),
)
def test_any_text_is_read_or_refused(text: str, head: str) -> None:
    try:
        file = parse_flows((head + text).encode(errors="surrogatepass"), "flows")
    except InputError as error:
        assert error.exit_code == ExitCode.INPUT
        return
    assert file.flows.fault(10**9) is None


def test_a_long_chain_of_triggers_is_no_deep_recursion() -> None:
    count = 20_000
    rows = ["source,destination,bytes,id,after", "0,1,5,1,"]
    rows += [f"0,1,5,{at},{at - 1}" for at in range(2, count + 1)]
    flows = parse("\n".join(rows)).flows
    assert len(flows) == count
    assert flows.after is not None


def test_formats_are_those_that_are_written() -> None:
    flows = Flows.together(np.array([0, 1]), np.array([1, 0]), 5)
    for form in FORMATS:
        assert parse(dump_flows(flows, form, nodes=2)).format == form
