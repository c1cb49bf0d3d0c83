"""What a packet run must not do, as findings: lose, stand still, or be saved by a watchdog."""

from ctestbed.core.result import Finding
from ctestbed.core.units import format_size, format_time
from ctestbed.topology.graph import Topology
from ctestbed.topology.names import node_name
from ctestbed.workload.packets import PacketTransfer


def packet_findings(topology: Topology, run: PacketTransfer) -> list[Finding]:
    """Report loss on a lossless class, watchdogs that dropped, and flows that do not finish."""
    found = []
    if run.settings.lossless and run.outcome.lost:
        found.append(_loss(topology, run))
    if run.outcome.watched:
        found.append(_storm(topology, run))
    unfinished = _unfinished(topology, run)
    return found if unfinished is None else [*found, unfinished]


def _loss(topology: Topology, run: PacketTransfer) -> Finding:
    outcome, ports = run.outcome, run.outcome.ports
    row = int(ports.first_drop.min(axis=1).argmin())
    link = int(ports.links[row])
    when = int(ports.first_drop[row].min())
    room = int(run.limits.headroom[link])
    return Finding(
        "CTB-S084",
        "error",
        f"{outcome.lost:,} frames of the lossless class were lost, the first by "
        f"{receiver_of(topology, link)} at {format_time(when)}: its headroom of "
        f"{format_size(room)} was full",
        None,
        "give more headroom, in the testbed or by --headroom",
    )


def _storm(topology: Topology, run: PacketTransfer) -> Finding:
    ports = run.outcome.ports
    row = int(ports.watchdog_first.min(axis=1).argmin())
    sender, receiver = ends_of(topology, int(ports.links[row]))
    count = int((ports.watchdog_drops.sum(axis=1) > 0).sum())
    others = f", and at {count - 1:,} other ports" if count > 1 else ""
    return Finding(
        "CTB-S101",
        "warning",
        f"watchdogs dropped {run.outcome.watched:,} frames of paused classes, the first by "
        f"{sender} (to {receiver}) at {format_time(int(ports.watchdog_first[row].min()))}{others}",
        None,
        "look at who paused that port: a NIC in a storm, or a circle of ports",
    )


def _unfinished(topology: Topology, run: PacketTransfer) -> Finding | None:
    outcome = run.outcome
    unfinished = int((outcome.finish < 0).sum())
    if outcome.interrupted:
        message = (
            f"stopped by Ctrl-C at {format_time(outcome.now)} of simulated time, with "
            f"{unfinished:,} of {len(outcome.finish):,} flows unfinished"
        )
        hint = "the figures are of what had happened by then; run it again for the whole"
        return Finding("CTB-S130", "warning", message, None, hint)
    if not unfinished:
        return None
    circle = find_circle(outcome.waits)
    if circle:
        ends = " > ".join(receiver_of(topology, link) for link in [*circle, circle[0]])
        why = f"deadlock, each of these ports waits for room in the next: {ends}"
        hint = "break the circle: routes that only go up and then down have none"
    elif outcome.stuck and bool((outcome.starts < 0).any()):
        never = int((outcome.starts < 0).sum())
        why = f"{never:,} of them never began, as what they wait for did not end"
        hint = "have flows wait for flows that end, and not for each other"
    elif outcome.stuck:
        why, hint = "nothing can happen any more", "a pause that nobody takes back holds them"
    else:
        why, hint = f"time ended at {format_time(outcome.now)}", "give a longer --horizon"
    message = f"{unfinished:,} of {len(outcome.finish):,} flows did not finish: {why}"
    return Finding("CTB-S085", "error", message, None, hint)


def find_circle(waits: tuple[tuple[int, int], ...]) -> list[int]:
    """Return links that wait for each other in a circle, from the lowest on; [] if none do."""
    after: dict[int, list[int]] = {}
    for link, other in waits:
        after.setdefault(link, []).append(other)
    done: set[int] = set()
    for start in sorted(after):
        path, turns = [start], [iter(after.get(start, []))]
        while path:
            step = next(turns[-1], None)
            if step is None:
                done.add(path.pop())
                turns.pop()
            elif step in path:
                circle = path[path.index(step) :]
                least = circle.index(min(circle))
                return circle[least:] + circle[:least]
            elif step not in done:
                path.append(step)
                turns.append(iter(after.get(step, [])))
    return []


def ends_of(topology: Topology, link: int) -> tuple[str, str]:
    """Name the nodes that a directed link leaves and reaches."""
    links = topology.links
    ends = (links.a, links.b) if link % 2 == 0 else (links.b, links.a)
    one, other = (node_name(topology, int(end[link // 2])) for end in ends)
    return one, other


def receiver_of(topology: Topology, link: int) -> str:
    """Name the port that receives from a directed link: its node, and whence."""
    sender, receiver = ends_of(topology, link)
    return f"{receiver} (from {sender})"
