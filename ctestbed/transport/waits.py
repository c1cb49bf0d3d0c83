"""What flows wait for: integer arrays beside a flow problem."""

from dataclasses import dataclass

from ctestbed.transport.problem import Column


@dataclass(frozen=True, slots=True)
class Chain:
    """What flow f waits for: `needs[f]` of the edges `offsets[f]:offsets[f + 1]`.

    An edge is done `lag` ps after its flow's end. The starts of a problem count from the moment
    that the wait is over, or from 0 for a flow that needs nothing.
    """

    offsets: Column
    flows: Column
    lag: Column
    needs: Column
