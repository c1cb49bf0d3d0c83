"""Names in sentences."""

import pytest

from ctestbed.core.names import numbered


@pytest.mark.parametrize(
    ("numbers", "text"),
    [([3], "plane 3"), ([0, 1, 2, 5], "planes 0-2, 5"), ([1, 3], "planes 1, 3")],
)
def test_runs_of_numbers_are_drawn_together(numbers: list[int], text: str) -> None:
    assert numbered("plane", numbers) == text
