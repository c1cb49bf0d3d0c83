"""A second reader of CSV evidence: bytes by offset, affine SM2, gmssl's SM3. Shares no code."""

from gmssl import sm3 as gmssl_sm3

P = 0xFFFFFFFEFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF00000000FFFFFFFFFFFFFFFF
A = P - 3
B = 0x28E9FA9E9D9F5E344D5A9E4BCF6509A7F39789F515AB8F92DDBCBD414D940E93
N = 0xFFFFFFFEFFFFFFFFFFFFFFFFFFFFFFFF7203DF6B21C6052B53BBF40939D54123
G = (
    0x32C4AE2C1F1981195F9904466A39C9948FE30BBFF2660BE1715A4589334C74C7,
    0xBC3736A2F4F6779C59BDCEE36B692153D0A9877CC62A474002DF32E52139F0A0,
)
Point = tuple[int, int]


def sm3(data: bytes) -> bytes:
    return bytes.fromhex(gmssl_sm3.sm3_hash(list(data)))


def hmac_sm3(key: bytes, data: bytes) -> bytes:
    block = key.ljust(64, b"\0")
    inner = sm3(bytes(byte ^ 0x36 for byte in block) + data)
    return sm3(bytes(byte ^ 0x5C for byte in block) + inner)


def add(left: Point | None, right: Point | None) -> Point | None:
    if left is None or right is None:
        return left or right
    (x1, y1), (x2, y2) = left, right
    if x1 == x2 and (y1 + y2) % P == 0:
        return None
    if left == right:
        slope = (3 * x1 * x1 + A) * pow(2 * y1, -1, P)
    else:
        slope = (y2 - y1) * pow(x2 - x1, -1, P)
    x = (slope * slope - x1 - x2) % P
    return x, (slope * (x1 - x) - y1) % P


def multiply(scalar: int, point: Point) -> Point | None:
    total, power = None, point
    while scalar:
        if scalar & 1:
            total = add(total, power)
        doubled = add(power, power)
        assert doubled is not None
        power, scalar = doubled, scalar >> 1
    return total


def sm2_holds(key: Point, uid: bytes, message: bytes, r: int, s: int) -> bool:
    parts = (A, B, *G, *key)
    z = sm3(
        (8 * len(uid)).to_bytes(2, "big") + uid + b"".join(n.to_bytes(32, "big") for n in parts)
    )
    e = int.from_bytes(sm3(z + message), "big")
    t = (r + s) % N
    if not (0 < r < N and 0 < s < N and t):
        return False
    point = add(multiply(s, G), multiply(t, key))
    return point is not None and (e + point[0]) % N == r


def number(raw: bytes, offset: int) -> int:
    assert not any(raw[offset + 32 : offset + 72])
    return int.from_bytes(raw[offset : offset + 32], "little")


def u32(raw: bytes, offset: int) -> int:
    return int.from_bytes(raw[offset : offset + 4], "little")


def root_key(cert: bytes) -> tuple[Point, bytes]:
    length = int.from_bytes(cert[212:214], "little")
    return (number(cert, 68), number(cert, 140)), cert[214 : 214 + length]


def chip_key(cert: bytes) -> tuple[Point, bytes]:
    length = int.from_bytes(cert[164:166], "little")
    return (number(cert, 20), number(cert, 92)), cert[166 : 166 + length]


def root_signed(cert: bytes, signer: tuple[Point, bytes]) -> bool:
    return sm2_holds(*signer, cert[:576], number(cert, 576), number(cert, 648))


def chip_signed(cert: bytes, slot: int, signer: tuple[Point, bytes]) -> bool:
    at = 1044 + 520 * slot
    return sm2_holds(*signer, cert[:1044], number(cert, at + 8), number(cert, at + 80))


def unmask(report: bytes, start: int, length: int) -> bytes:
    word = report[188:192]
    return bytes(report[start + i] ^ word[(start + i) % 4] for i in range(length))


def split(endorsements: bytes) -> tuple[bytes, bytes, bytes]:
    assert len(endorsements) == 832 + 832 + 2084
    return endorsements[:832], endorsements[832:1664], endorsements[1664:]


def failures(report: bytes, endorsements: bytes) -> list[str]:
    """Name every link that does not hold, from root to MAC."""
    hrk, hsk, cek = split(endorsements)
    pek = unmask(report, 336, 2084)
    mac = hmac_sm3(unmask(report, 128, 16), report[336:2516])
    links = {
        "length": len(report) == 2548,
        "hrk": root_signed(hrk, root_key(hrk)),
        "hsk": root_signed(hsk, root_key(hrk)),
        "cek": chip_signed(cek, 0, root_key(hsk)),
        "pek": chip_signed(pek, 0, chip_key(cek)),
        "report": sm2_holds(*chip_key(pek), report[:180], number(report, 192), number(report, 264)),
        "signer": unmask(report, 180, 8) == (0x1002).to_bytes(4, "little") + b"\4\0\0\0",
        "mac": mac == report[2516:2548],
    }
    return [name for name, holds in links.items() if not holds]
