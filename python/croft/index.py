"""The index of one snapshot (section 7): its tables as NumPy arrays, and the rules on them."""
import struct
from typing import NamedTuple
import numpy as np
from .checksums import crc32c, xxh3
from .state import MAX_RANK, CroftError, names_of, need, parse_tree

PAGE, DATA, BIG, NONE = 4096, 1024, 1 << 16, 0xFFFFFFFF
RAW, ZERO, ADOPTED, CODED = 0, 1, 2, 3  # kinds of extents
REQUIRES_GRAD, CONJUGATE, NEGATIVE = 1, 2, 4  # flags of tensors
CROFT, FOREIGN = 0, 1  # kinds of bases
PLANES, DIFFERENCE, MOST_RATIO = 1, 2, 1024  # codecs, and the most bytes for each coded one
MAX_INDEX, MAX_SUMMED, MAX_COUNT, MAX_TEXT, MAX_ZEROS = 1 << 28, 1 << 33, 1 << 24, 4096, 1 << 46
U8, U16, U32, U64, I64, ID = "u1", "<u2", "<u4", "<u8", "<i8", "V16"
# code: (record size, wider allowed, required, fields as name, type, offset, reserved bytes)
TABLES = {
    "EXTN": (40, 1, 1, [("kind", U8, 0), ("flags", U8, 1), ("base", U16, 2), ("crc", U32, 4), ("offset", U64, 8),
                        ("length", U64, 16),
                        ("digest", ID, 24)], (40, 40)),
    "STOR": (16, 1, 1, [("nbytes", U64, 0), ("first", U32, 8), ("device", U32, 12)], (16, 16)),
    "TENS": (24, 1, 1, [("dtype", U16, 0), ("rank", U8, 2), ("flags", U8, 3), ("storage", U32, 4), ("offset", U64, 8),
                        ("dim", U32, 16), ("name", U32, 20)], (24, 24)),
    "DIMS": (8, 0, 1, [("dim", I64, 0)], (8, 8)),
    "NAMS": (16, 1, 1, [("text", U64, 0), ("size", U32, 8), ("tensor", U32, 12)], (16, 16)),
    "STRS": (16, 1, 1, [("text", U64, 0), ("size", U32, 8)], (12, 16)),
    "DTYP": (32, 1, 1, [("text", U64, 0), ("size", U32, 8), ("bits", U32, 12), ("block", U32, 16)], (20, 32)),
    "STRB": (1, 0, 1, [("byte", "u1", 0)], (1, 1)),
    "TREE": (1, 0, 1, [("byte", "u1", 0)], (1, 1)), "META": (1, 0, 1, [("byte", "u1", 0)], (1, 1)),
    "BASE": (96, 1, 0, [("text", U64, 0), ("size", U32, 8), ("kind", U16, 12), ("depth", U16, 14), ("uuid", ID, 16),
                        ("digest", ID, 32), ("length", U64, 48), ("sequence", U64, 56)], (64, 96)),
    "FREE": (16, 1, 0, [("offset", U64, 0), ("length", U64, 8)], (16, 16)),
    "CODE": (32, 1, 0, [("extent", U32, 0), ("codec", U8, 4), ("width", U8, 5), ("base", U16, 6), ("coded", U64, 8),
                        ("reference", U64, 16), ("crc", U32, 24)], (28, 32)),
    "ISUM": (4, 0, 0, [("crc", U32, 0)], (4, 4))}


class Run(NamedTuple):
    """The bytes of an extent in a file: `size` of them, which `coding` says how to decode to `length`."""
    base: int
    offset: int
    size: int
    length: int
    coding: "Coding | None"


class Coding(NamedTuple):
    """How an extent is coded: section 11.5. Without a reference, `base` and `reference` are 0."""
    codec: int
    width: int
    base: int
    reference: int
    crc: int


class Tensor(NamedTuple):
    """A record of TENS: a window on a storage."""
    dtype: str
    bits: int
    flags: int
    storage: int
    offset: int
    sizes: tuple
    strides: tuple

    def span(self):
        """The first bit that it touches in its storage, and where its last one ends."""
        start, steps = 8 * self.offset + (self.flags >> 4), [(n - 1) * s for n, s in zip(self.sizes, self.strides)]
        return (0, 0) if 0 in self.sizes else (start + self.bits * sum(min(s, 0) for s in steps),
                                               start + self.bits * (1 + sum(max(s, 0) for s in steps)))

    def is_packed(self):
        """Whether its elements are no whole bytes."""
        return self.bits % 8 or self.flags >> 4


def record_type(code, size):
    """The type of the records of a section, which have that size in bytes."""
    names, formats, offsets = zip(*TABLES[code][3])
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size})


class Index:
    """The index of a commit, all of it checked: its tables by section code, `names`, `dtypes`, `tree`, `metadata`,
    `runs`, which has the digest and the checksum of every run of bytes that it names, and `places`, which has the run
    of every extent, or None for zeros."""

    def __init__(self, data, header, commit):
        self.header, self.commit, self.chunk = header, commit, 1 << header["log2"]
        need(commit.length <= MAX_SUMMED, 8, "the index is too large")
        self.bytes = bytes(data[commit.offset:commit.offset + commit.length])
        self._read_sections()
        self._check_texts()
        self._check_extents()
        self._check_storages()
        self._check_tensors()
        counts = [len(self.tables[code]) for code in ("TENS", "STOR", "DTYP")]
        self.tree = parse_tree(self.tables["TREE"].tobytes(), *counts)
        self.metadata = self._metadata()

    def check_names(self):
        need(names_of(self.tree) == self.names, 6, "the names are not those of the state tree")

    def _read_sections(self):
        index, commit = self.bytes, self.commit
        end = 32 + 48 * struct.unpack_from("<I", index, 4)[0] if len(index) >= 32 else 0
        need(32 <= end <= len(index) and xxh3(index[:end]) == commit.directory, 14,
             "the digest of the directory does not match")
        head = struct.unpack_from("<4sIQQII", index)
        need(head[:1] + head[2:4] == (b"CIDX", commit.length, commit.sequence)
             and crc32c(index[:24] + bytes(4) + index[28:end]) == head[4], 15,
             "the directory contradicts its commit record")
        need(head[5] == 0, 9, "reserved bytes of the directory are not zero")
        need(head[1] <= 256, 8, "the index has too many sections")
        self.tables, codes, directory = {}, [], end
        for entry in range(32, directory, 48):
            code, flags, start, length, count, size, crc, spare = struct.unpack_from("<4sIQQQIIQ", index, entry)
            code = code.decode("latin-1")
            need(max(start, length, count) < 1 << 63, 1, "a number is past 2^63-1")
            need(start >= end and start % 8 == 0 and start <= len(index) and length <= len(index) - start, 2,
                 f"section {code!r} cannot stand there")
            need(flags < 4 and spare == 0 and not any(index[end:start]), 9,
                 f"reserved bits of section {code!r} are not zero")
            need(crc32c(index[start:start + length]) == crc, 14, f"the checksum of section {code!r} does not match")
            need(code not in codes and size > 0 and count * size == length, 15,
                 f"section {code!r} comes twice or is no table")
            codes.append(code)
            end = start + length
            if code in TABLES:
                self._read_table(code, start, count, size)
            else:
                need(not flags & 1, 13, f"section {code!r} is unknown and critical")
        need(not any(index[end:]), 9, "padding of the index is not zero")
        need(all(code in self.tables for code, table in TABLES.items() if table[2]), 15, "a section is missing")
        need(commit.length <= MAX_INDEX or "ISUM" in codes, 8, "the index is too large to be checked in one piece")
        if "ISUM" in codes:
            start = end - self.tables["ISUM"].nbytes
            sums = [crc32c(index[max(at, directory):min(at + PAGE, start)]) if at + PAGE > directory else 0
                    for at in range(0, start, PAGE)]
            need(codes[-1] == "ISUM" and len(sums) == len(self.tables["ISUM"]), 15,
                 "section ISUM is not last or not complete")
            need(sums == self.tables["ISUM"]["crc"].tolist(), 14, "the checksum of a block of the index does not match")

    def _read_table(self, code, start, count, size):
        known, wider, _, fields, (spare, end) = TABLES[code]
        need(size == known or wider and size > known, 15, f"records of {code} cannot have {size} bytes")
        need(count <= (MAX_COUNT if code in ("TENS", "NAMS") else 256 if code == "BASE" else 1 << 31), 8,
             f"{code} has too many records")
        table = self.tables[code] = np.frombuffer(self.bytes, record_type(code, size), count, start)
        for name, form, _ in fields:
            need(form != U64 or not (table[name] >> np.uint64(63)).any(), 1, f"a number of {code} is past 2^63-1")
        raw = np.frombuffer(self.bytes, np.uint8, count * size, start).reshape(count, size)
        need(not raw[:, spare:end].any(), 9, f"reserved bytes of {code} are not zero")

    def _check_texts(self):
        t, pool, tree = self.tables, self.tables["STRB"].tobytes(), self.tables["TREE"].tobytes()

        def text(at, size):  # in STRB or, counted from its end, in TREE
            need(at <= len(pool) + len(tree), 10, "a text is not there")
            where, at = (pool, at) if at < len(pool) else (tree, at - len(pool))
            need(size <= len(where) - at, 10, "a text is not there")
            return where[at:at + size].decode()

        def texts(code):
            if code not in t:
                return []
            need((t[code]["size"] <= MAX_TEXT).all(), 8, f"a text of {code} is too long")
            try:
                return [text(at, size) for at, size in zip(t[code]["text"].tolist(), t[code]["size"].tolist())]
            except UnicodeDecodeError:
                raise CroftError(6, f"a text of {code} is not UTF-8") from None
        need((t["BASE"]["size"] > 0).all() if "BASE" in t else True, 8, "a base has an empty path")
        names, self.strings, self.dtypes, self.paths = (texts(code) for code in ("NAMS", "STRS", "DTYP", "BASE"))
        need(((t["DTYP"]["bits"] > 0) & (t["DTYP"]["bits"] < 1 << 31)).all(), 15,
             "an element type has no possible size")
        need((t["DTYP"]["block"] == 1).all(), 13, "an element type has blocks")
        utf8 = [name.encode() for name in names]
        need(all(a < b for a, b in zip(utf8, utf8[1:])), 6, "the names are not sorted and unique")
        need((t["NAMS"]["tensor"] < len(t["TENS"])).all(), 10, "a name belongs to a tensor that is not there")
        self.names = dict(zip(names, t["NAMS"]["tensor"].tolist()))
        bases, seen = t.get("BASE", ()), set()
        for base, path in zip(bases, self.paths):
            check_path(path)
            need(base["kind"] <= FOREIGN, 13, "a base is of an unknown kind")
            need(base["depth"] <= 7, 8, "a base is too deep")
            fits = (base["sequence"] > 0 if base["kind"] == CROFT
                    else not (base["depth"] or base["sequence"] or any(base["uuid"].tobytes())))
            need(fits and (key := base["uuid"].tobytes() if base["kind"] == CROFT else path) not in seen, 15,
                 f"base {path!r} comes twice or is malformed")
            seen.add(key)

    def _check_extents(self):
        e, bases, free = self.tables["EXTN"], self.tables.get("BASE", ()), self.tables.get("FREE", ())
        need((e["kind"] <= CODED).all(), 13, "an extent is of an unknown kind")
        need((e["flags"] <= 1).all(), 9, "an extent has unknown flags")
        need((e["length"] > 0).all(), 4, "an extent is empty")
        zero = e[e["kind"] == 1]
        need(not any(zero[f].any() for f in ("flags", "base", "crc", "offset"))
             and not any(zero["digest"].tobytes()), 9, "a ZERO extent says where it is")
        self._check_order_of_codings(e)
        codings = {code[0]: code for code in self.tables["CODE"].tolist()} if "CODE" in self.tables else {}
        spans, need_base, self.places = {}, set(), []
        for i, (kind, flags, base, crc, offset, length, digest) in enumerate(e.tolist()):
            if kind == ZERO:
                self.places.append(None)
                continue
            need(length <= self.chunk, 4, f"extent {i} is longer than a chunk")
            need(base <= len(bases) and (kind != ADOPTED or base > 0), 10, f"extent {i} has a base that is not there")
            need(base == 0 or bases[base - 1]["kind"] == (FOREIGN if kind == ADOPTED else CROFT), 10,
                 f"extent {i} has a base of the wrong kind")
            size, coding = self._coding(i, codings[i], length, bases) if kind == CODED else (length, None)
            self._check_place(i, base, offset, size, bases)
            self.places.append(Run(base, offset, size, length, coding))
            spans.setdefault((base, offset, size), []).append((flags, digest, crc, self.places[-1]))
            need_base |= {base, coding.base if coding else 0}
        need(len(need_base - {0}) == len(bases), 10, "a base is not used")
        for (base, offset, length), same in spans.items():
            need(len(set(same)) == 1, 2, "extents share bytes and differ")
            need(same[0][0] == (len(same) > 1), 2, "an extent is flagged wrongly as shared")
        self.runs = {run: (digest, crc) for ((_, digest, crc, run), *_) in spans.values()}
        own = [(0, o, n) for o, n in zip(free["offset"].tolist(), free["length"].tolist())] if len(free) else []
        need(all(n > 0 and self.header["start"] <= o and o + n <= self.commit.committed
                 and not in_slots(self.header, o, o + n) for _, o, n in own)
             and all(a[1] + a[2] < b[1] for a, b in zip(own, own[1:])), 2, "the free ranges are not in order")
        start = self.commit.previous or self.commit.offset
        check_disjoint([*spans, *own, (0, start, self.commit.offset + self.commit.length - start)])

    def _check_order_of_codings(self, e):
        coded = self.tables["CODE"]["extent"].tolist() if "CODE" in self.tables else []
        need(coded == np.flatnonzero(e["kind"] == CODED).tolist(), 10,
             "CODE has not the coded extents in their order")

    def _coding(self, i, record, length, bases):
        """How many coded bytes an extent has, and how they are decoded."""
        _, codec, width, base, coded, reference, crc = record
        need(codec in (PLANES, DIFFERENCE), 13, f"extent {i} has the codec {codec}")
        need(width in (1, 2, 4, 8) and length % width == 0, 15, f"extent {i} has elements of {width} bytes")
        need(coded < length <= MOST_RATIO * coded, 4, f"extent {i} has {coded} coded bytes")
        if codec == DIFFERENCE:
            need(base <= len(bases), 10, f"extent {i} has a reference in a base that is not there")
            self._check_place(i, base, reference, length, bases)
        else:
            need(base == reference == 0, 9, f"extent {i} has a reference that it does not need")
        return coded, Coding(codec, width, base, reference, crc)

    def _check_place(self, i, base, offset, size, bases):
        low, high = ((self.header["start"], self.commit.committed) if base == 0
                     else (DATA * (bases[base - 1]["kind"] == CROFT), int(bases[base - 1]["length"])))
        need(low <= offset and offset + size <= high, 2, f"extent {i}, or its reference, is outside the data")
        need(base != 0 or not in_slots(self.header, offset, offset + size), 2,
             f"extent {i}, or its reference, is in the commit slots")

    def _check_storages(self):
        e, s = self.tables["EXTN"], self.tables["STOR"]
        need((s["device"] < len(self.strings)).all(), 10, "a storage has a device that is not there")
        firsts = self.firsts = [*s["first"].tolist(), len(e)]
        need(firsts[0] == 0, 10, "an extent belongs to no storage")
        for i, (nbytes, first, end) in enumerate(zip(s["nbytes"].tolist(), firsts, firsts[1:])):
            need(nbytes < 1 << 60, 1, f"storage {i} is too large")
            need(first <= end <= len(e), 10, f"storage {i} has extents that are not the next ones")
            at, alignment, ragged = 0, BIG if nbytes >= self.chunk else 64, False
            for kind, _, _, _, offset, length, _ in e[first:end].tolist():
                place = 64 if kind == CODED else alignment
                need(kind not in (RAW, CODED) or at % alignment == 0 == offset % place and not ragged, 2,
                     f"an extent of storage {i} is not aligned")
                at, ragged = at + length, ragged or kind in (RAW, CODED) and length % alignment > 0
            need(at == nbytes, 4, f"the extents of storage {i} do not add up to it")
        need(sum(s["nbytes"].tolist()) - self.commit.committed <= MAX_ZEROS, 7,
             "the storages are too large for the file")

    def _check_tensors(self):
        dims, t = self.tables["DIMS"]["dim"], self.tables["TENS"]
        names = list(self.names.values())
        for i, (dtype, rank, flags, storage, offset, dim, name) in enumerate(t.tolist()):
            need(dtype < len(self.dtypes) and storage < len(self.tables["STOR"]), 10,
                 f"tensor {i} has a dtype or storage that is not there")
            need(flags < 128, 9, f"tensor {i} has unknown flags")
            need(name == NONE or name < len(names) and names[name] == i, 10,
                 f"tensor {i} claims a name that is not its own")
            need(rank <= MAX_RANK, 8, f"tensor {i} has too many dimensions")
            need(dim + 2 * rank <= len(dims), 10, f"tensor {i} has sizes that are not there")
            sizes, strides = dims[dim:dim + rank].tolist(), dims[dim + rank:dim + 2 * rank].tolist()
            need(min(sizes, default=0) >= 0 and (min(strides, default=0) < 0) == (flags >> 3 & 1), 5,
                 f"tensor {i} has negative sizes or strides")
            need(0 in sizes or np.prod(sizes, dtype=object) < 1 << 63, 1, f"tensor {i} has too many elements")
            need((8 * offset + (flags >> 4)) % int(self.tables["DTYP"]["bits"][dtype]) == 0, 5,
                 f"tensor {i} starts between two elements")
            low, high = self.tensor(i).span()
            need(0 <= low and high <= 8 * int(self.tables["STOR"]["nbytes"][storage]), 5,
                 f"tensor {i} reaches outside its storage")

    def extents_of(self, storage):
        """The extents of a storage: those up to the first one of the next storage."""
        return self.tables["EXTN"][self.firsts[storage]:self.firsts[storage + 1]]

    def places_of(self, storage):
        """Where their bytes are."""
        return self.places[self.firsts[storage]:self.firsts[storage + 1]]

    def tensor(self, number):
        """What the tables say of a tensor."""
        dtype, rank, flags, storage, offset, dim, _ = self.tables["TENS"][number].tolist()
        dims = self.tables["DIMS"]["dim"][dim:dim + 2 * rank].tolist()
        return Tensor(self.dtypes[dtype], int(self.tables["DTYP"]["bits"][dtype]), flags, storage, offset,
                      tuple(dims[:rank]), tuple(dims[rank:]))

    def _metadata(self):
        root = parse_tree(self.tables["META"].tobytes(), 0, 0, 0)
        need(root.kind == "map" and all(kid.kind == "string" for kid in root.kids), 16,
             "the metadata is no map of strings")
        keys = [kid.value.encode() for kid in root.kids[::2]]
        need(all(a < b for a, b in zip(keys, keys[1:])), 16, "the metadata is not sorted")
        return {key.value: value.value for key, value in zip(root.kids[::2], root.kids[1::2])}


def in_slots(header, start, end):
    """Whether a range has bytes in common with the commit slots, which a sealed file has not."""
    return header["slots"] > 0 and start < header["slots"] + 2 * PAGE and end > header["slots"]


def check_path(path):
    parts = path.split("/")
    need(path and not any(part in ("", ".", "..") for part in parts) and "\0" not in path, 6,
         f"{path!r} is no path hint")


def check_disjoint(spans):
    end, last = 0, None
    for base, offset, length in sorted(spans):
        need(base != last or offset >= end, 2, "two extents, or an extent and the index, overlap")
        end, last = offset + length, base
