"""Merge flows that must behave alike, and links likewise, before anything is solved.

Two flows are alike when they have the same size, start, class and weight and cross alike links;
two links are alike when they have the same capacity and carry alike flows. The coarsest such
partition is found by colour refinement of the flow-link graph. Max-min rates are unique, so alike
flows get the same rate at all times, and one of each class is solved for. Colours are refined by
hashes, and the partition is then checked exactly: a collision costs speed, never truth.
"""

from dataclasses import dataclass

import numpy as np

from ctestbed.core.mix import mix64
from ctestbed.transport.problem import Column, FlowProblem

_MAX_ROUNDS = 64

_MANY = 1000
"""Among fewer flows it costs nothing to merge what can be."""

_WORTHWHILE = 0.9
"""With more classes than this share of the flows, merging saves less than it costs."""


@dataclass(frozen=True, slots=True)
class Quotient:
    """A flow problem over classes: flow class f crosses `links[offsets[f]:offsets[f + 1]]`.

    Every link of such a link class carries `counts` flows of the class. `flow_class[i]` is the
    class of the original flow i; sizes are in bytes, starts in ps, capacity in bit/s.
    """

    capacity: Column
    offsets: Column
    links: Column
    counts: Column
    sizes: Column
    starts: Column
    priority: Column
    weight: Column
    flow_class: Column

    @property
    def flows(self) -> int:
        """Number of flow classes."""
        return len(self.sizes)


def merge_alike(problem: FlowProblem) -> Quotient:
    """Return the problem over classes of alike flows and links."""
    used, link = np.unique(problem.links, return_inverse=True)
    flow = np.repeat(np.arange(problem.flows), np.diff(problem.offsets))
    capacity = problem.capacity[used]
    flow_class, link_class = _refine(problem, capacity, flow, link)
    merged = None
    classes = int(flow_class.max()) + 1
    if problem.flows < _MANY or classes < _WORTHWHILE * problem.flows:
        given = [*((flow_class, each) for each in _given(problem)), (link_class, capacity)]
        if all(_is_uniform(kinds, values) for kinds, values in given):
            merged = _crossings(flow, link, flow_class, link_class)
    if merged is None:
        flow_class, link_class = np.arange(problem.flows), np.arange(len(used))
        merged = flow, link, np.ones(len(flow), np.int64)
    of_flow, of_link, counts = merged
    flow_example, link_example = _examples(flow_class), _examples(link_class)
    offsets = np.zeros(len(flow_example) + 1, np.int64)
    np.cumsum(np.bincount(of_flow, minlength=len(flow_example)), out=offsets[1:])
    return Quotient(
        capacity=capacity[link_example],
        offsets=offsets,
        links=of_link,
        counts=counts,
        sizes=problem.sizes[flow_example],
        starts=problem.starts[flow_example],
        priority=problem.classes[flow_example],
        weight=problem.weights[flow_example],
        flow_class=flow_class,
    )


def _given(problem: FlowProblem) -> list[Column]:
    """Return the columns in which flows may differ from the start."""
    optional = [values for values in (problem.priority, problem.weight) if values is not None]
    return [problem.sizes, problem.starts, *optional]


def _refine(
    problem: FlowProblem, capacity: Column, flow: Column, link: Column
) -> tuple[Column, Column]:
    """Return colours of flows and of links that no further round would split.

    Or colours of so many flows that nobody wants to merge by them.
    """
    by_link = np.argsort(link, kind="stable")
    link_starts = np.searchsorted(link[by_link], np.arange(len(capacity)))
    flow_colour = np.zeros(problem.flows, np.int64)
    for values in _given(problem):
        kind = np.unique(values, return_inverse=True)[1].reshape(-1)
        pair = flow_colour * (int(kind.max()) + 1) + kind
        flow_colour = np.unique(pair, return_inverse=True)[1].reshape(-1)
    link_colour = np.unique(capacity, return_inverse=True)[1]
    colours = 0
    for _ in range(_MAX_ROUNDS):
        carried = np.add.reduceat(mix64(flow_colour)[flow[by_link]], link_starts)
        link_colour = _rank(link_colour, carried)
        crossed = np.add.reduceat(mix64(link_colour)[link], problem.offsets[:-1])
        flow_colour = _rank(flow_colour, crossed)
        before, colours = colours, int(flow_colour.max()) + int(link_colour.max())
        many = int(flow_colour.max()) + 1 >= _WORTHWHILE * problem.flows
        if colours == before or (many and problem.flows >= _MANY):
            break
    return flow_colour, link_colour


def _rank(colour: Column, signature: Column) -> Column:
    # Mixed twice, so that an item's own colour never looks like one of its neighbours'.
    key = mix64(mix64(colour)) ^ signature
    ranks: Column = np.unique(key, return_inverse=True)[1]
    return ranks


def _examples(classes: Column) -> Column:
    return np.unique(classes, return_index=True)[1]


def _is_uniform(classes: Column, values: Column) -> bool:
    """Tell whether all members of each class have one value."""
    return bool((values == values[_examples(classes)][classes]).all())


def _crossings(
    flow: Column, link: Column, flow_class: Column, link_class: Column
) -> tuple[Column, Column, Column] | None:
    """Return (flow class, link class, flows per link), or None if classes are not uniform."""
    from_flows = _uniform_counts(flow, flow_class, link_class[link])
    from_links = _uniform_counts(link, link_class, flow_class[flow])
    if from_flows is None or from_links is None:
        return None
    of_link, of_flow, counts = from_links
    order = np.lexsort((of_link, of_flow))
    return of_flow[order], of_link[order], counts[order]


def _uniform_counts(
    item: Column, item_class: Column, other: Column
) -> tuple[Column, Column, Column] | None:
    """Count each item's neighbours by class; None unless all items of a class count alike."""
    others = np.int64(other.max() + 1)
    pair, counts = np.unique(item * others + other, return_counts=True)
    key = item_class[pair // others] * others + pair % others
    order = np.argsort(key, kind="stable")
    key, counts = key[order], counts[order]
    kinds, first, members = np.unique(key, return_index=True, return_counts=True)
    class_size = np.bincount(item_class)
    alike = np.array_equal(np.repeat(counts[first], members), counts)
    if not alike or not np.array_equal(members, class_size[kinds // others]):
        return None
    return kinds // others, kinds % others, counts[first]
