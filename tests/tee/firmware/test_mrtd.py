"""MRTD: the bulk way against the module's own two functions, and against the layout."""

from hashlib import sha384

from hypothesis import given
from hypothesis import strategies as st

from ctestbed.tee.firmware.mrtd import Mrtd

PAGE = 4096


def slow_mrtd(regions: list[tuple[int, bytes]]) -> bytes:
    """MRTD page by page and chunk by chunk, from the specification's own words."""
    digest = sha384()
    for start, data in regions:
        for page in range(0, len(data), PAGE):
            add = bytearray(128)
            add[:12] = b"MEM.PAGE.ADD"
            add[16:24] = (start + page).to_bytes(8, "little")
            digest.update(add)
            for chunk in range(page, page + PAGE, 256):
                extend = bytearray(128)
                extend[:9] = b"MR.EXTEND"
                extend[16:24] = (start + chunk).to_bytes(8, "little")
                digest.update(bytes(extend) + data[chunk : chunk + 256])
    return digest.digest()


@given(
    st.lists(
        st.tuples(st.integers(0, 2**36), st.integers(1, 3), st.binary(min_size=1, max_size=64)),
        max_size=4,
    )
)
def test_bulk_equals_the_functions_one_by_one(parts: list[tuple[int, int, bytes]]) -> None:
    regions = [
        (page * PAGE, (seed * (count * PAGE // len(seed) + 1))[: count * PAGE])
        for page, count, seed in parts
    ]
    bulk, single = Mrtd(), Mrtd()
    for start, data in regions:
        bulk.add_and_extend(start, data)
        for page in range(0, len(data), PAGE):
            single.add_page(start + page)
            for chunk in range(page, page + PAGE, 256):
                single.extend(start + chunk, data[chunk : chunk + 256])
    assert bulk.value == single.value == slow_mrtd(regions)


def test_the_two_orders_of_vmms_are_two_measurements() -> None:
    data = bytes(range(256)) * 32
    single, double = Mrtd(), Mrtd()
    single.add_and_extend(0, data)
    for page in range(0, len(data), PAGE):
        double.add_page(page)
    for chunk in range(0, len(data), 256):
        double.extend(chunk, data[chunk : chunk + 256])
    assert single.value != double.value
