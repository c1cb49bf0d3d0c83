"""The name that an absent switch would have, from the names of those beside it."""

import re
from collections.abc import Sequence
from typing import Final

_PARTS: Final = re.compile(r"[0-9]+|[^0-9]+")


def guess_name(beside: Sequence[str], along: Sequence[str]) -> str | None:
    """Return the name at the crossing of a row and a column of names; None if they do not tell.

    What all names `beside` share is kept; where they differ, what all names `along` share is
    taken: beside leaf-01-07 and leaf-02-07, along leaf-03-05 and leaf-03-06, lies leaf-03-07.
    """
    rows = [_PARTS.findall(name) for name in beside]
    columns = [_PARTS.findall(name) for name in along]
    every = rows + columns
    if not rows or not columns or len({len(parts) for parts in every}) != 1:
        return None
    name = ""
    for at in range(len(rows[0])):
        for side in (rows, columns):
            values = {parts[at] for parts in side}
            if len(values) == 1 and (side is columns or len(rows) > 1):
                name += values.pop()
                break
        else:
            return None
    return name
