"""CRC32C, in parallel lanes, and XXH3-128, with NumPy alone."""
import functools, struct
import numpy as np


def _crc_table():
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = (table >> 1) ^ (table & 1) * np.uint32(0x82F63B78)
    return table


TABLE = _crc_table()
BITS = np.uint32(1) << np.arange(32, dtype=np.uint32)


def _apply(operator, crc):
    """A linear map of CRC registers, given by its images of the 32 bits."""
    return np.bitwise_xor.reduce(np.where(np.atleast_1d(crc)[:, None] & BITS, operator, np.uint32(0)), axis=1)


@functools.cache
def _zeros(log2):
    """What 2^log2 zero bytes do to a register."""
    return TABLE[BITS & 255] ^ BITS >> 8 if log2 == 0 else _apply(_zeros(log2 - 1), _zeros(log2 - 1))


def crc32c(data):
    data = np.frombuffer(data, np.uint8)
    lanes = 1 << (len(data).bit_length() // 2 + 1 if len(data) > 64 else 0)
    width = 1 << max(0, -(-len(data) // lanes) - 1).bit_length()
    padded = np.zeros(lanes * width, np.uint8)  # zeros in front do not change a register of zero
    padded[lanes * width - len(data):] = data
    crc = np.zeros(lanes, np.uint32)
    for column in padded.reshape(lanes, width).T.copy():
        crc = TABLE[(crc ^ column) & 255] ^ crc >> 8
    for level in range(lanes.bit_length() - 1):
        crc = _apply(_zeros(width.bit_length() - 1 + level), crc[0::2]) ^ crc[1::2]
    start = np.array([0xFFFFFFFF], np.uint32)
    for bit in range(len(data).bit_length()):
        start = _apply(_zeros(bit), start) if len(data) >> bit & 1 else start
    return int(crc[0] ^ start[0]) ^ 0xFFFFFFFF


M = (1 << 64) - 1
P32_1, P32_2, P32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
P1, P2, P3, P4, P5 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb"
    "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")


def u64(data, at):
    return int.from_bytes(data[at:at + 8], "little")


def _fold(a, b):
    return (a * b ^ a * b >> 64) & M


def _avalanche(h):
    h = (h ^ h >> 37) * 0x165667919E3779F9 & M
    return h ^ h >> 32


def _avalanche64(h):
    h = (h ^ h >> 33) * P2 & M
    h = (h ^ h >> 29) * P3 & M
    return h ^ h >> 32


def xxh3(data):
    """The digest as the 16 bytes that are in a file."""
    low, high = _short(bytes(data)) if len(data) <= 16 else _middle(bytes(data)) if len(data) <= 240 else _long(data)
    return struct.pack("<QQ", low & M, high & M)


def _short(data):
    n, s = len(data), SECRET
    if n > 8:
        low, high = u64(data, 0), u64(data, n - 8)
        m = (low ^ high ^ u64(s, 32) ^ u64(s, 40)) * P1
        high ^= u64(s, 48) ^ u64(s, 56)
        m_high = (m >> 64) + high + (high & 0xFFFFFFFF) * (P32_2 - 1) & M
        m_low = (m + (n - 1 << 54) & M) ^ int.from_bytes(m_high.to_bytes(8, "little"), "big")
        return _avalanche(m_low * P2 & M), _avalanche((m_low * P2 >> 64) + m_high * P2 & M)
    if n > 3:
        keyed = int.from_bytes(data[:4], "little") + (int.from_bytes(data[-4:],
                                                                     "little") << 32) ^ u64(s, 16) ^ u64(s, 24)
        m = keyed * (P1 + (n << 2))
        low, high = m & M, (m >> 64) & M
        high = high + (low << 1) & M
        low ^= high >> 3
        low = (low ^ low >> 35) * 0x9FB21C651E98DF25 & M
        return low ^ low >> 28, _avalanche(high)
    if n > 0:
        low = data[0] << 16 | data[n >> 1] << 24 | data[-1] | n << 8
        high = int.from_bytes(low.to_bytes(4, "little"), "big")
        high = (high << 13 | high >> 19) & 0xFFFFFFFF
        return (_avalanche64(low ^ u64(s, 0) & 0xFFFFFFFF ^ u64(s, 0) >> 32),
                _avalanche64(high ^ u64(s, 8) & 0xFFFFFFFF ^ u64(s, 8) >> 32))
    return _avalanche64(u64(s, 64) ^ u64(s, 72)), _avalanche64(u64(s, 80) ^ u64(s, 88))


def _middle(data):
    n = len(data)
    low, high = n * P1 & M, 0

    def mix(i, j, s):
        nonlocal low, high
        low = (low + _fold(u64(data, i) ^ u64(SECRET, s), u64(data, i + 8) ^ u64(SECRET, s + 8)) ^ u64(data, j)
               + u64(data, j + 8)) & M
        high = (high + _fold(u64(data, j) ^ u64(SECRET, s + 16), u64(data, j + 8) ^ u64(SECRET, s + 24)) ^ u64(data, i)
                + u64(data, i + 8)) & M
    if n <= 128:
        for k in range((n - 1) // 32, -1, -1):
            mix(16 * k, n - 16 * (k + 1), 32 * k)
    else:
        for k in range(n // 32):
            if k == 4:
                low, high = _avalanche(low), _avalanche(high)
            mix(32 * k, 32 * k + 16, 32 * k if k < 4 else 32 * (k - 4) + 3)
        if n < 160:
            low, high = _avalanche(low), _avalanche(high)
        mix(n - 16, n - 32, 103)
    return _avalanche(low + high & M), -_avalanche(low * P1 + high * P4 + n * P2 & M)


def _long(data):
    data, n = np.frombuffer(data, np.uint8), len(data)
    secret = np.frombuffer(SECRET, np.uint8)
    keys = np.stack([secret[8 * i:8 * i + 64].view("<u8") for i in range(16)])
    mask, half, prime = np.uint64(0xFFFFFFFF), np.uint64(32), np.uint64(P32_1)
    swap = [1, 0, 3, 2, 5, 4, 7, 6]

    def sums(stripes, key):  # stripes x 8 lanes; within a block the order of additions does not matter
        keyed = stripes ^ key
        return (stripes[..., swap] + (keyed & mask) * (keyed >> half)).sum(axis=-2, dtype=np.uint64)
    acc = np.array([P32_3, P1, P2, P3, P4, P32_2, P5, P32_1], np.uint64)
    blocks, key = (n - 1) // 1024, secret[128:192].view("<u8")
    for start in range(0, blocks, 4096):
        count = min(4096, blocks - start)
        for total in sums(data[1024 * start:1024 * (start + count)].view("<u8").reshape(count, 16, 8), keys):
            acc += total
            acc = (acc ^ acc >> np.uint64(47) ^ key) * prime
    stripes = (n - 1 - 1024 * blocks) // 64
    acc += sums(data[1024 * blocks:1024 * blocks + 64 * stripes].view("<u8").reshape(stripes, 8), keys[:stripes])
    acc += sums(data[n - 64:].view("<u8").reshape(1, 8), secret[121:185].view("<u8"))
    acc = [int(a) for a in acc]

    def merge(s, start):
        return _avalanche(start + sum(_fold(acc[2 * i] ^ u64(SECRET, s + 16 * i),
                                            acc[2 * i + 1] ^ u64(SECRET, s + 16 * i + 8)) for i in range(4)) & M)
    return merge(11, n * P1 & M), merge(117, ~(n * P2) & M)
