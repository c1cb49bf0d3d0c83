"""What `sim transfer` tells of queues and pauses over time, and of who paused whom."""

from typing_extensions import TypedDict


class PortSeriesData(TypedDict):
    """One directed link over time: bytes that wait for it, and 1 where its sender is held back."""

    link: int
    sender: str
    receiver: str
    queued: list[int]
    held: list[int]


class SeriesData(TypedDict):
    """A packet run over time: entry i is what was seen at `(i + 1) * step` ps.

    Of all links together the bytes that wait and how many links are held back, by a pause or for
    want of credit; the bit/s of payload that came since the last entry; and the flows that had not
    finished. Where `step` has doubled in the run, the earlier entries are the most of several.
    `ports` are the few links with the longest queues, and those held back most often.
    """

    step: int
    queued: list[int]
    held: list[int]
    goodput: list[int]
    unfinished: list[int]
    ports: list[PortSeriesData]


class PauseData(TypedDict):
    """A link's first pause: told by its receiver to its sender at `time` ps.

    `cause` is the link, out of the receiver, because of which; null where none was itself paused.
    `depth` counts the pauses from the root to this one, which is 1 at the root.
    """

    link: int
    traffic_class: int
    sender: str
    receiver: str
    time: int
    cause: int | None
    depth: int


class PauseTreeData(TypedDict):
    """What followed from one first pause, or from a storm: links and hosts paused, and how deep.

    `root` receives what was too much, or storms; `sender` is whom it paused; `time` in ps.
    """

    link: int
    traffic_class: int
    root: str
    sender: str
    time: int
    storm: bool
    links: int
    hosts: int
    depth: int


class PauseTreesData(TypedDict):
    """Who first paused whom: the largest trees of all `roots`, and the earliest of all pauses."""

    links: int
    hosts: int
    roots: int
    trees: list[PauseTreeData]
    pauses: list[PauseData]
