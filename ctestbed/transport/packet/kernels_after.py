"""Flows that begin when others are done: who is told, and when that lets them begin.

Word inside a node takes no time. To another node it takes as long as the quickest frame over the
quickest cable (`C_WINDOW`), so that nodes can be settled one by one.
"""

from ctestbed.core.jit import indexed_from_zero, inner, part
from ctestbed.transport.packet import kernels_layout as at


@part
def set_start(ports, flows, order, doors, due, run, flow, start):
    """Have a flow begin at `start`, after those of its port that begin then and come before it."""
    port = flows[flow, at.S_PORT]
    place = ports[port, at.P_START]
    while order[place] != flow:
        place += 1
    flows[flow, at.S_START] = start
    while place > ports[port, at.P_START]:
        other = order[place - 1]
        earlier = flows[other, at.S_START]
        if earlier < start or (earlier == start and other < flow):
            break
        order[place] = other
        place -= 1
    order[place] = flow
    doors[port, at.A_TIMER] = min(doors[port, at.A_TIMER], start)
    node = ports[ports[port, at.P_PEER], at.P_PEER_NODE]
    due[node] = min(due[node], start)
    if start < run[at.X_UNTIL]:
        run[at.X_STARTED] = 1


@indexed_from_zero
@inner
def tell_followers(
    ports, flows, order, doors, due, edges, waiting, run, settings, first, count, now
):
    """Tell the flows that wait for the one that has just been sent or received whole."""
    flow, receipt = run[at.X_DONE] - 1 >> 1, run[at.X_DONE] - 1 & 1
    run[at.X_DONE] = 0
    row = flows[flow, at.S_EDGES]
    while edges[row, at.E_OF] == flow:
        follower = edges[row, at.E_FOLLOWER]
        if edges[row, at.E_RECEIPT] == receipt:
            heard = now
            port = flows[follower, at.S_PORT]
            if not first <= port < first + count:
                heard += settings[at.C_WINDOW]
            wait = flows[follower, at.S_WAIT]
            words = waiting[wait, at.V_FIRST]
            fired = waiting[wait, at.V_FIRED]
            place = fired
            while place > 0 and edges[words + place - 1, at.E_HEARD] > heard:
                edges[words + place, at.E_HEARD] = edges[words + place - 1, at.E_HEARD]
                place -= 1
            edges[words + place, at.E_HEARD] = heard
            waiting[wait, at.V_FIRED] = fired + 1
            needs = waiting[wait, at.V_NEEDS]
            # Words from other nodes are not heard in the order in which nodes are settled.
            if fired + 1 >= needs and place < needs:
                start = edges[words + needs - 1, at.E_HEARD] + waiting[wait, at.V_DELAY]
                set_start(ports, flows, order, doors, due, run, follower, start)
        row += 1


def warm() -> None:
    """Compiled with the kernels that call them."""
