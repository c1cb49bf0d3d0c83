"""Find links that can never hold anyone back before another link on the same ways does."""

from ctestbed.core.jit import engine, inner


@inner
def times(links, counts, begin, end, link):  # type: ignore[no-untyped-def]
    """Return how often the path `links[begin:end]` counts on `link`."""
    for crossing in range(begin, end):
        if links[crossing] == link:
            return counts[crossing]
    return 0


@inner
def covers(capacity, offsets, links, counts, begins, flows_of, link, other):  # type: ignore[no-untyped-def]
    """Tell whether `other` always binds first: no wider, and all flows of `link` cross it.

    Of two links that cover each other, the first stands.
    """
    if capacity[other] > capacity[link]:
        return False
    alike = capacity[other] == capacity[link]
    for place in range(begins[link], begins[link + 1]):
        flow = flows_of[place]
        mine = times(links, counts, offsets[flow], offsets[flow + 1], link)
        yours = times(links, counts, offsets[flow], offsets[flow + 1], other)
        if yours < mine:
            return False
        alike = alike and yours == mine
    alike = alike and begins[other + 1] - begins[other] == begins[link + 1] - begins[link]
    return other < link or not alike


@engine
def trim(capacity, offsets, links, counts, begins, flows_of, needless):  # type: ignore[no-untyped-def]
    """Mark in `needless` each link that another one covers.

    Flow f crosses `links[offsets[f]:offsets[f + 1]]`; link l carries the flows
    `flows_of[begins[l]:begins[l + 1]]`.
    """
    for link in range(len(capacity)):
        if begins[link] == begins[link + 1]:
            continue
        first = flows_of[begins[link]]
        for crossing in range(offsets[first], offsets[first + 1]):
            other = links[crossing]
            if other != link and covers(
                capacity, offsets, links, counts, begins, flows_of, link, other
            ):
                needless[link] = True
                break


def warm() -> None:
    """Compile nothing: the flow engine's `warm` runs this too."""
