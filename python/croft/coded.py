"""Decoding the bytes of coded extents (section 11.5)."""
import struct
import numpy as np
from .checksums import crc32c
from .state import CroftError, need

FRAME, SKIPPABLE = 0xFD2FB528, 0x184D2A50  # what frames begin with


def decode(data, run, reference):
    """The bytes of an extent as an array.

    `data` are the coded bytes; `reference` as many bytes as the extent has, or None. The package zstandard is imported
    here, where it is needed."""
    need(crc32c(data) == run.coding.crc, 14, f"the coded bytes at {run.offset} are damaged")
    try:
        import zstandard
    except ImportError:
        raise CroftError(13, "an extent is compressed by Zstandard; install the Python package zstandard") from None
    plane, planes = run.length // run.coding.width, []
    try:
        for _ in range(run.coding.width):
            frame = data[:_frame_length(data, zstandard)]
            sizes = zstandard.get_frame_parameters(frame)
            # The library allocates what the frame says, or else what it is told.
            need(sizes.content_size in (plane, zstandard.CONTENTSIZE_UNKNOWN), 14, "a frame has another size")
            planes.append(zstandard.ZstdDecompressor().decompress(frame, max_output_size=plane))
            need(len(planes[-1]) == plane, 14, "a frame has another size")
            data = data[len(frame):]
    except (zstandard.ZstdError, struct.error) as e:
        raise CroftError(14, f"the coded bytes at {run.offset} are no frames: {e}") from None
    need(_is_padding(data), 14, f"something follows the coded bytes at {run.offset}")
    elements = np.frombuffer(b"".join(planes), np.uint8).reshape(run.coding.width, -1).T.reshape(-1)
    if reference is None:
        return elements
    folded, other = (array.view(f"<u{run.coding.width}") for array in (elements, np.array(reference)))
    return (other + (folded >> 1 ^ -(folded & 1))).view(np.uint8)


def _frame_length(data, zstandard):
    need(len(data) > 4 and struct.unpack_from("<I", data)[0] == FRAME, 14, "the coded bytes begin with no frame")
    at, is_last = zstandard.frame_header_size(data), False
    while not is_last:
        head = int.from_bytes(data[at:at + 3].ljust(3, b"\xff"), "little")  # the end of the data is a reserved block
        is_last, kind, size = head & 1, head >> 1 & 3, head >> 3
        need(kind < 3, 14, "a block of a frame is of no kind")
        at += 3 + (1 if kind == 1 else size)  # a run of one byte has it once
    return at + 4 * zstandard.get_frame_parameters(data).has_checksum


def _is_padding(data):
    return not data or len(data) >= 8 and struct.unpack_from("<II", data) == (SKIPPABLE, len(data) - 8)
