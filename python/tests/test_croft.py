"""Compares the reader with files made here, byte by byte as format-spec/SPEC.md says, and with broken ones."""
import hashlib, os, pathlib, struct, tempfile, unittest, unittest.mock, uuid
import numpy as np

import croft
from croft.checksums import crc32c, xxh3
from croft.sets import check_parts

CHUNK = 1 << 16
ID = uuid.UUID("00000000-0000-8000-8000-00000000c40f").bytes
RESOURCES = pathlib.Path(__file__).resolve().parents[2] / "format-spec/src/test/resources"
GOLDEN, CORPUS = RESOURCES / "golden", RESOURCES / "corpus"


def up(position, alignment):
    return -(-position // alignment) * alignment


def summed(content, size):
    content = content.ljust(size - 4, b"\0")
    return content + struct.pack("<I", crc32c(content))


def header(slots, file_id=ID, sealed=0, minor=0):
    return summed(struct.pack("<8sHHI16sQQQB7xQQ", b"\x89CRF\r\n\x1a\n", 1, minor, 256, file_id, 0, sealed, 0, 16, 1024,
                              slots), 256)


def text(value):
    return bytes([9, len(value)]) + value.encode()


def raw(offset, data, flags=0, base=0, kind=0):
    return kind, flags, base, offset, data


def code(extent, coded, codec=1, width=1, base=0, reference=0, length=None):
    return struct.pack("<IBBHQQI4x", extent, codec, width, base, length or len(coded), reference, crc32c(coded))


def frame(size, byte=0, magic=0xFD2FB528, kind=1, claimed=None):
    """A Zstandard frame of equal bytes, at most 255."""
    head = struct.pack("<IBB", magic, 0x20, size if claimed is None else claimed)
    return head + (1 | kind << 1 | size << 3).to_bytes(3, "little") + bytes([byte])


class Content:
    """What an index says. Storages are lists of extents, made by `raw` or (1, length); tensors are (name, storage,
    sizes, strides)."""

    def __init__(self, storages, tensors, bases=(), free=(), extra=(), blocks=False, wide=0, dtype=(0, 5, 8),
                 tree=None):
        self.storages, self.tensors, self.bases, self.free, self.extra = storages, tensors, bases, free, extra
        self.blocks, self.wide, self.dtype, self.tree = blocks, wide, dtype, tree

    def index(self, sequence):
        names = sorted((name.encode(), i) for i, (name, *_) in enumerate(self.tensors))
        pool, extents, storages, at = bytearray(b"uint8cpu"), b"", b"", 0
        for extent_list in self.storages:
            nbytes = 0
            for extent in extent_list:
                if extent[0] == 1:
                    extents += struct.pack("<BBHIQQ16x", 1, 0, 0, 0, 0, extent[1])
                    nbytes += extent[1]
                else:
                    kind, flags, base, offset, data = extent
                    extents += struct.pack("<BBHIQQ16s", kind, flags, base, crc32c(data), offset, len(data), xxh3(data))
                    nbytes += len(data)
            storages += struct.pack("<QII", nbytes, at, 0)
            at += len(extent_list)
        tens, dims, nams = b"", b"", b""
        for i, (name, storage, sizes, strides) in enumerate(self.tensors):
            flags = 8 if min(strides, default=0) < 0 else 0
            offset = sum((n - 1) * -s for n, s in zip(sizes, strides) if s < 0)
            tens += struct.pack("<HBBIQII", 0, len(sizes), flags, storage, offset, len(dims) // 8,
                                names.index((name.encode(), i))) + bytes(self.wide)
            dims += struct.pack(f"<{2 * len(sizes)}q", *sizes, *strides)
        for name, i in names:
            nams += struct.pack("<QII", len(pool), len(name), i)
            pool += name
        base_table = b""
        for path, *rest in self.bases:
            base_table += struct.pack("<QIHH16s16sQQ32x", len(pool), len(path), *rest)
            pool += path.encode()
        tree = self.tree or bytes([0x12, len(self.tensors)]) + b"".join(
            text(name) + bytes([0x20, i]) for i, (name, *_) in enumerate(self.tensors))
        sections = [(b"EXTN", 40, extents), (b"STOR", 16, storages), (b"TENS", 24 + self.wide, tens),
                    (b"DIMS", 8, dims), (b"NAMS", 16, nams),
                    (b"STRS", 16, struct.pack("<QI4x", 5, 3)), (b"DTYP", 32, struct.pack("<QIII12x", *self.dtype, 1)),
                    (b"STRB", 1, bytes(pool)),
                    (b"TREE", 1, tree), (b"META", 1, b"\x12\0")]
        sections += [(b"BASE", 96, base_table)] if self.bases else []
        sections += [(b"FREE", 16, b"".join(struct.pack("<QQ", *r) for r in self.free))] if self.free else []
        return self.layout([(*s, 1) for s in sections] + list(self.extra), sequence)

    def layout(self, sections, sequence):
        directory = 32 + 48 * (len(sections) + self.blocks)
        body, entries = bytearray(directory), b""
        for code, size, data, flags in sections:
            body += bytes(up(len(body), 8) - len(body))
            entries += struct.pack("<4sIQQQIIQ", code, flags, len(body), len(data), len(data) // size, size,
                                   crc32c(data), 0)
            body += data
        if self.blocks:
            body += bytes(up(len(body), 8) - len(body))
            cuts = [(max(k, directory), min(k + 4096, len(body))) for k in range(0, len(body), 4096)]
            data = b"".join(struct.pack("<I", crc32c(body[a:b]) if a < b else 0) for a, b in cuts)
            entries += struct.pack("<4sIQQQIIQ", b"ISUM", 0, len(body), len(data), len(data) // 4, 4, crc32c(data), 0)
            body += data
        body += bytes(up(len(body), 8) - len(body))
        head = struct.pack("<4sIQQII", b"CIDX", entries.__len__() // 48, len(body), sequence, 0, 0) + entries
        body[:directory] = head[:24] + struct.pack("<I", crc32c(head)) + head[28:]
        self.directory = xxh3(bytes(body[:directory]))
        return bytes(body)


def record(content, index, sequence, offset, file_id=ID, message=""):
    fixed = struct.pack("<4sIQQQ16s16sQQqQ16s", b"CMIT", 624 if message else 112, sequence, offset, len(index),
                        content.directory, file_id,
                        offset + len(index), offset - 768 if sequence > 1 else 0, 0, 0, xxh3(index))
    return summed(fixed + (struct.pack("<I", len(message)) + message.encode() if message else b""), 768)


def contents(file):
    """What a snapshot holds, in the lines of contents.txt."""
    start = [file.path.name, file.commit.sequence]
    yield "\t".join(map(str, [*start, "snapshot", file.commit.message]))
    tensors, dims, dtypes = (file.index.tables[code] for code in ("TENS", "DIMS", "DTYP"))
    for number, storage in enumerate(file.index.tables["STOR"]):
        digest = hashlib.sha256(file.storage(number).tobytes()).hexdigest()
        yield "\t".join(map(str, [*start, "storage", number, file.index.strings[storage["device"]], storage["nbytes"],
                                  digest]))
    for name, number in file.index.names.items():
        dtype, rank, flags, storage, offset, dim, _ = tensors[number].tolist()
        sizes, strides = dims["dim"][dim:dim + 2 * rank].reshape(2, rank).tolist()
        if dtypes["bits"][dtype] % 8 == 0 and 0 not in sizes:
            assert np.shares_memory(file.tensor(name), file.storage(storage))
        yield "\t".join(map(str, [*start, "tensor", name, file.dtype(name), dtypes["bits"][dtype], sizes, strides,
                                  storage, offset, flags >> 4]))


class Writer:
    """A file in memory: `put` bytes, then `commit` what they mean."""

    def __init__(self, file_id=ID, sealed=0, minor=0):
        self.file_id, self.sealed, self.sequence = file_id, sealed, 0
        self.minor, self.slots, self.record = minor, 0, b""
        self.bytes = bytearray(1024)

    def put(self, data, alignment=64):
        self.bytes += bytes(up(len(self.bytes), alignment) - len(self.bytes))
        self.bytes += data
        return len(self.bytes) - len(data)

    def commit(self, content, message=""):
        self.sequence += 1
        if self.sequence > 1:
            self.put(self.record)
        index = content.index(self.sequence)
        offset = self.put(index)
        self.root, self.length = xxh3(index), len(self.bytes)
        commit = record(content, index, self.sequence, offset, self.file_id, message)
        if self.sealed:
            self.put(commit)
        elif self.sequence == 1:
            self.slots = up(self.length, 4096)
            self.bytes[256:1024] = commit
        else:
            slot = self.slots + 4096 * (self.sequence % 2)
            self.bytes[slot:slot + 4096] = commit.ljust(4096, b"\0")
        if self.sequence == 1:
            self.bytes[:256] = header(self.slots, self.file_id, self.sealed, self.minor)
        self.record = commit
        return self

    def grow(self):
        """Makes way for the next snapshot, as an append does."""
        self.bytes = self.bytes.ljust(max(self.slots + 8192, up(len(self.bytes), 4096)), b"\0")
        return self


def one(data=b"abcdefgh", **options):
    writer = Writer(**options)
    return writer.commit(Content([[raw(writer.put(data), data)]], [("w", 0, [len(data)], [1])]))


class CroftTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.directory = pathlib.Path(holder.name)

    def save(self, content, name="f.croft"):
        path = self.directory / name
        path.write_bytes(content if isinstance(content, (bytes, bytearray)) else content.bytes)
        return path

    def valid(self, content, **options):
        croft.open(self.save(content), **options).verify()
        return croft.open(self.save(content), **options)

    def refused(self, code, content, **options):
        self.refused_at(code, self.save(content), **options)

    def refused_at(self, code, path, **options):
        with self.assertRaises(croft.CroftError) as caught:
            for file in croft.open_set(path) if path.suffix == ".croftset" else [croft.open(path, **options)]:
                file.verify()
        self.assertEqual(caught.exception.code.split("-")[0], code)

    def two(self):
        writer = one().grow()
        data = b"second"
        at = writer.put(data)
        return writer.commit(Content([[raw(1024, b"abcdefgh")], [raw(at, data)]],
                                     [("w", 0, [8], [1]), ("v", 1, [6], [1])]), "step 2")

    def test_golden_files_are_valid(self):
        for path in sorted(GOLDEN.glob("*.croft*")):
            with self.subTest(path.name):
                if path.suffix in (".croft", ".croftset"):
                    for file in croft.open_set(path) if path.suffix == ".croftset" else [croft.open(path, root=GOLDEN)]:
                        file.verify()

    def test_golden_files_hold_what_java_says(self):
        lines = []
        for path in sorted(GOLDEN.glob("*.croft*")):
            if path.suffix == ".croftset":
                lines += ["\t".join(map(str, (path.name, "shard", i, file.path.name, file.commit.sequence)))
                          for i, file in enumerate(croft.open_set(path))]
                run, tensors = croft.set_slices(path)
                lines += ["\t".join(map(str, (path.name, run, name, dtype, bits, list(shape), shard, list(offset),
                                              list(size))))
                          for name, (dtype, bits, shape, parts) in tensors.items() for shard, offset, size in parts]
            else:
                for commit in reversed(list(croft.open(path).chain())):
                    lines += contents(croft.open(path, commit.sequence, GOLDEN))
        self.assertEqual("\n".join(lines) + "\n", (GOLDEN / "contents.txt").read_text())

    def test_files_of_the_corpus_break_the_rule_that_they_are_named_after(self):
        paths = sorted(CORPUS.iterdir())
        self.assertGreater(len(paths), 20)
        for path in paths:
            with self.subTest(path.name):
                self.refused_at(path.name.split("-")[0].upper(), path)

    def test_tensors_of_one_storage_share_memory_and_negative_strides_work(self):
        writer = Writer()
        at = writer.put(b"abcdef")
        file = self.valid(writer.commit(Content([[raw(at, b"abcdef")]],
                                                [("a", 0, [2, 3], [3, 1]), ("t", 0, [3, 2], [1, 3]),
                                                 ("r", 0, [6], [-1])])))
        self.assertTrue(np.shares_memory(file.tensor("a"), file.tensor("t")))
        self.assertEqual(file.tensor("r").tobytes(), b"fedcba")
        file.tensor("a")[0, 0] = ord("z")
        self.assertEqual(file.tensor("r").tobytes(), b"fedcbz")
        self.assertEqual(croft.open(self.directory / "f.croft").tensor("a")[0, 0], ord("a"))

    def test_element_types_have_any_name_and_width_that_the_format_allows(self):
        for dtype, code in ((0, 0, 8), None), ((0, 5, 1048584), None), \
                ((0, 5, 0), "V15"), ((0, 5, 2 ** 31), "V15"), ((0, 4097, 8), "V8"):
            with self.subTest(dtype):
                nbytes = -(-dtype[2] // 8) % 2 ** 31
                content = Content([[(1, min(65536, nbytes - at)) for at in range(0, nbytes, 65536)]],
                                  [("w", 0, [1], [1])], dtype=dtype)
                if code:
                    self.refused(code, Writer().commit(content))
                else:
                    self.assertEqual(self.valid(Writer().commit(content)).tensor("w").nbytes, nbytes)

    def test_snapshots_are_listed_and_opened(self):
        file = self.valid(self.two())
        self.assertEqual([(c.sequence, c.message) for c in file.chain()], [(2, "step 2"), (1, "")])
        self.assertEqual(list(croft.open(file.path, sequence=1).index.names), ["w"])
        self.assertEqual(file.tensor("v").tobytes(), b"second")

    def test_a_torn_append_gives_the_snapshot_before(self):
        whole = self.two().bytes
        for cut in range(len(one().bytes) + 1, len(whole), 397):
            opened = croft.open(self.save(whole[:cut]))
            self.assertEqual((opened.commit.sequence, opened.skipped is None), (1, False))
        torn = bytearray(whole)
        slot = one().slots
        torn[slot + 512:slot + 4096] = bytes(4096 - 512)
        self.assertEqual(croft.open(self.save(torn)).commit.sequence, 1)
        three = self.two().grow().commit(Content([], []))
        self.assertEqual(self.valid(three).commit.sequence, 3)
        for first, last, sequence in ((slot + 4096 + 512, slot + 8192, 2), (slot + 512, slot + 8192 - 512, None)):
            torn = bytearray(three.bytes)
            torn[first:last] = b"x" * (last - first)
            if sequence:
                self.assertEqual(croft.open(self.save(torn)).commit.sequence, sequence)
            else:
                self.refused("V14", torn)

    def test_the_tail_of_a_torn_append_is_declared_free(self):
        writer = one().grow()
        start = len(writer.bytes)
        writer.bytes += b"torn" * 30
        tail = (start, len(writer.bytes) - start)
        self.valid(writer.grow().commit(Content([[raw(1024, b"abcdefgh")]], [("w", 0, [8], [1])], free=[tail])))
        self.valid(writer.grow().commit(Content([[raw(1024, b"abcdefgh")]], [("w", 0, [8], [1])], free=[tail])))
        self.refused("V19", writer.grow().commit(Content([[raw(1024, b"abcdefgh")]], [("w", 0, [8], [1])])))
        writer = one().grow()
        writer.bytes += b"torn"
        self.refused("V3", writer.grow().commit(Content([[raw(1024, b"abcdefgh")]], [("w", 0, [8], [1])])))

    def test_equal_chunks_stand_once_and_stay_two_storages(self):
        chunk, other = os.urandom(CHUNK), os.urandom(CHUNK)
        for flags, code in ((1, None), (0, "V2")):
            writer = Writer()
            a, b = writer.put(chunk, CHUNK), writer.put(other, CHUNK)
            storages = [[raw(a, chunk, flags), raw(b, other)], [(1, CHUNK), raw(a, chunk, flags)]]
            writer.commit(Content(storages, [("x", 0, [2 * CHUNK], [1]), ("y", 1, [2 * CHUNK], [1])]))
            if code:
                self.refused(code, writer)
            else:
                file = self.valid(writer)
                self.assertEqual(file.tensor("x").tobytes(), chunk + other)
                self.assertEqual(file.tensor("y").tobytes(), bytes(CHUNK) + chunk)
                self.assertFalse(np.shares_memory(file.tensor("x"), file.tensor("y")))

    def test_extents_that_overlap_in_part_are_refused(self):
        data = os.urandom(128)
        writer = Writer()
        at = writer.put(data)
        self.refused("V2", writer.commit(Content([[raw(at, data)], [raw(at + 64, data[64:])]],
                                                 [("x", 0, [128], [1]), ("y", 1, [64], [1])])))
        writer = one().grow()
        index = 1024 + 64
        self.refused("V2", writer.commit(Content([[raw(index, bytes(writer.bytes[index:index + 64]))]], [])))
        writer = self.two()
        slot = writer.slots
        self.refused("V2", writer.grow().commit(Content([[raw(slot, bytes(writer.bytes[slot:slot + 64]))]], [])))

    def based(self, depth=0, digest=None, path="f0.croft", file_id=ID):
        base = self.two()
        self.save(base, "f0.croft")
        writer = Writer(file_id=bytes(16))
        entry = (path, 0, depth, file_id, digest or base.root, base.length, 2)
        return writer.commit(Content([[raw(1024, b"abcdefgh", base=1)]], [("w", 0, [8], [1])], bases=[entry]))

    def test_bytes_of_a_base_are_found_by_its_id(self):
        self.assertEqual(self.valid(self.based()).tensor("w").tobytes(), b"abcdefgh")
        for wrong in (dict(depth=1), dict(digest=bytes(16)), dict(path="g.croft"), dict(file_id=bytes(range(16)))):
            self.refused("V18", self.based(**wrong))
        self.refused("V8", self.based(depth=8))

    def adopted(self, path="a.bin", data=b"..adopted bytes.."):
        (self.directory / "a.bin").write_bytes(b"..adopted bytes..")
        writer = Writer()
        entry = (path, 1, 0, bytes(16), xxh3(data), len(data), 0)
        return writer.commit(Content([[raw(2, data[2:9], base=1, kind=2)]], [("w", 0, [7], [1])], bases=[entry]))

    def test_adopted_files_need_a_root_and_stay_below_it(self):
        self.assertEqual(self.valid(self.adopted(), root=self.directory).tensor("w").tobytes(), b"adopted")
        self.refused("V18", self.adopted())
        self.refused("V14", self.adopted(data=b"..other.. bytes.."), root=self.directory)
        self.refused("V18", self.adopted(data=b"..adopted"), root=self.directory)
        for path in ("../a.bin", "/a.bin", "x//a.bin", "./a.bin", "a\0b"):
            self.refused("V6", self.adopted(path=path), root=self.directory)
        for path in ("x\\a.bin", "c:a.bin", "a\nb"):  # names that POSIX allows, of no file that is there
            self.refused("V18", self.adopted(path=path), root=self.directory)
        outside = tempfile.NamedTemporaryFile()
        self.addCleanup(outside.close)
        (self.directory / "link").symlink_to(outside.name)
        self.refused("V18", self.adopted(path="link"), root=self.directory)

    def coded(self, coded, data, record=None, **options):
        """A file with bytes as they are, which are 1, 2, 3 ..., and an extent of `data` that is coded."""
        writer = Writer()
        plain = bytes(i % 251 + 1 for i in range(len(data)))
        first, second = writer.put(plain), writer.put(coded)
        record = record or code(1, coded, reference=first if options.get("codec") == 2 else 0, **options)
        return writer.commit(Content([[raw(first, plain)], [(3, 0, 0, second, data)]],
                                     [("plain", 0, [len(data)], [1]), ("w", 1, [len(data)], [1])],
                                     extra=[(b"CODE", 32, record, 0)]))

    def test_coded_extents_are_decoded(self):
        file = self.valid(self.coded(frame(200, 7), bytes([7]) * 200))
        self.assertEqual(file.tensor("w").tobytes(), bytes([7]) * 200)
        plain = np.array([i % 251 + 1 for i in range(200)], np.uint8).view("<u4")
        near = (plain - np.uint32((0x07070707 + 1) // 2)).tobytes()
        file = self.valid(self.coded(frame(50, 7) * 4, near, codec=2, width=4))
        self.assertEqual(file.tensor("w").tobytes(), near)
        file.tensor("w")[0] = 0
        self.assertEqual(file.tensor("plain")[0], 1)
        planes = bytes([1, 2, 3, 4] * 25) + bytes([5, 6, 7, 8] * 25)
        raw_block = b"".join(struct.pack("<IBB", 0xFD2FB528, 0x20, 100) + (1 | 100 << 3).to_bytes(3, "little") + half
                             for half in (planes[:100], planes[100:]))
        elements = np.frombuffer(planes, np.uint8).reshape(2, 100).T.tobytes()
        self.refused("V4", self.coded(raw_block, elements, width=2))
        import zstandard
        compress = zstandard.ZstdCompressor(1).compress
        self.valid(self.coded(compress(planes[:100]) + compress(planes[100:]), elements, width=2))
        self.refused("V14", self.coded(compress(planes), elements, width=2))
        self.valid(self.coded(frame(200, 7) + struct.pack("<II3x", 0x184D2A50, 3), bytes([7]) * 200))

    def test_coded_bytes_that_do_not_decode_to_the_extent_are_refused(self):
        data = bytes(200)
        for wrong in (frame(199), frame(201), frame(200, 1), frame(200) + frame(0), frame(100) * 2, frame(200) + b"x",
                      frame(200) + struct.pack("<II3x", 0x184D2A50, 4), frame(200) + struct.pack("<II", 0x184D2A51, 0),
                      frame(200, claimed=199), frame(200, claimed=201), frame(200, magic=0xFD2FB527),
                      frame(200, kind=3), frame(200)[:-1], frame(200)[:5], b"x",
                      struct.pack("<II", 0x184D2A50, 0) + frame(200)):
            with self.subTest(wrong.hex()):
                self.refused("V14", self.coded(wrong, data))
        good = frame(200)
        self.refused("V14", self.coded(good, data, code(1, good)[:24] + bytes(8)))
        for field, value, rule in ((0, 0, "V10"), (4, 0, "V13"), (4, 3, "V13"), (5, 0, "V15"), (5, 3, "V15"),
                                   (5, 16, "V15"), (6, 1, "V9"), (8, 200, "V4"), (8, 0, "V4"), (16, 64, "V9"),
                                   (23, 128, "V1"), (28, 1, "V9")):
            record = bytearray(code(1, good))
            record[field] = value
            with self.subTest((field, value)):
                self.refused(rule, self.coded(good, data, bytes(record)))
        for reference in (0, 1 << 40):
            self.refused("V2", self.coded(good, data, code(1, good, codec=2, reference=reference)))
        self.refused("V10", self.coded(good, data, code(1, good, codec=2, base=1, reference=1024)))

    def test_without_zstandard_all_but_coded_extents_are_read(self):
        path = self.save(self.coded(frame(200, 7), bytes([7]) * 200))
        with unittest.mock.patch.dict("sys.modules", zstandard=None):
            file = croft.open(path)
            self.assertEqual(file.tensor("plain")[3], 4)
            with self.assertRaisesRegex(croft.CroftError, "zstandard") as caught:
                file.tensor("w")
            self.assertEqual(caught.exception.code, "V13-UNSUPPORTED")

    def test_sealed_files_end_with_their_record(self):
        sealed = one(sealed=1)
        self.assertEqual(self.valid(sealed).tensor("w").tobytes(), b"abcdefgh")
        self.refused("V17", sealed.bytes[:-1])
        self.refused("V17", sealed.bytes + b"x")
        slotted = bytearray(sealed.bytes)
        slotted[256:1024] = sealed.bytes[-768:]
        self.refused("V20", slotted)

    def test_files_of_the_future_are_read_or_refused(self):
        def future(flags, **options):
            writer = Writer(minor=9)
            at = writer.put(b"abcdefgh")
            return writer.commit(Content([[raw(at, b"abcdefgh")]], [("w", 0, [8], [1])],
                                         extra=[(b"XXXX", 1, b"news", flags)], **options))
        self.assertEqual(self.valid(future(2, wide=16)).tensor("w").tobytes(), b"abcdefgh")
        self.refused("V13", future(1))
        self.refused("V9", future(4))
        writer = one()
        for offset, code in ((32, "V13"), (40, None), (48, None), (57, "V9"), (72, "V2"), (80, "V9")):
            changed = bytearray(writer.bytes)
            changed[offset] = 128
            changed[:256] = summed(bytes(changed[:252]), 256)
            self.refused(code, changed) if code else self.valid(changed)

    def test_blocks_of_a_large_index(self):
        writer = Writer()
        data = os.urandom(64 * 120)
        writer.put(data)
        storages = [[raw(1024 + 64 * i, data[64 * i:64 * i + 64])] for i in range(120)]
        self.valid(writer.commit(Content(storages, [(f"n{i}", i, [64], [1]) for i in range(120)], blocks=True)))

    def test_a_set_names_its_shards(self):
        shard = self.two()

        def manifest(digest=shard.root, file_id=ID, path=b"s.croft", count=1):
            head = struct.pack("<8sHHI16sIIQQ8x", b"\x89CRS\r\n\x1a\n", 1, 0, count, bytes(16), 80, len(path),
                               68 + 80 * count + len(path), 0)
            body = head + count * struct.pack("<16s16sQQII24x", file_id, digest, 2, shard.length, 0, len(path)) + path
            return self.save(body + struct.pack("<I", crc32c(body)), "m.croftset")
        self.save(shard, "s.croft")
        later = self.two()
        later.grow().commit(Content([], []))
        for stored in (shard, later):
            self.save(stored, "s.croft")
            self.assertEqual(croft.open_set(manifest())[0].tensor("v").tobytes(), b"second")
        for code, wrong in (("V21", dict(digest=bytes(16))), ("V21", dict(file_id=bytes(16))),
                            ("V21", dict(path=b"t.croft")),
                            ("V6", dict(path=b"../s.croft")), ("V6", dict(count=2))):
            with self.assertRaises(croft.CroftError) as caught:
                croft.open_set(manifest(**wrong))
            self.assertEqual(caught.exception.code.split("-")[0], code)
        flipped = bytearray(manifest().read_bytes())
        for bit in range(8 * len(flipped)):
            flipped[bit // 8] ^= 1 << bit % 8
            with self.assertRaises(croft.CroftError):
                croft.open_set(self.save(flipped, "m.croftset"))
            flipped[bit // 8] ^= 1 << bit % 8

    def test_the_slices_of_a_tensor_are_put_together(self):
        weight = croft.set_tensor(GOLDEN / "slices.croftset", "weight")
        self.assertEqual(weight.tobytes(), bytes(range(1, 49)))
        self.assertEqual(croft.set_tensor(GOLDEN / "slices.croftset", "bias").tobytes(), bytes(range(20, 0, -1)))

    def test_parts_that_are_not_the_whole_are_refused(self):
        halves = [(0, (0, 0), (2, 2)), (0, (0, 2), (2, 2))]
        check_parts("w", (2, 4), halves)
        check_parts("w", (0, 4), [])
        for wrong in (halves[:1], halves + [(0, (1, 1), (1, 1))], [(0, (0, 0), (2, 5))], [(0, (0,), (2,))],
                      halves[::-1], [halves[0], (0, (0, 1), (2, 3))], [halves[0], (0, (0, 2), (2, 0))]):
            with self.assertRaises(croft.CroftError) as caught:
                check_parts("w", (2, 4), wrong)
            self.assertEqual(caught.exception.code, "V22-SLICE")

    def test_flipped_bits_and_cuts_are_found(self):
        near = bytes((i % 251 + 1) ^ 7 for i in range(200))
        for writer in (self.two(), one(sealed=1), self.coded(frame(200, 7), near, codec=2)):
            whole = writer.bytes
            places = [*range(0, 128, 3), *range(256, 400, 3), *range(1000, len(whole), 41)]
            for at in places:
                flipped = bytearray(whole)
                flipped[at] ^= 1 << at % 8
                with self.assertRaises(croft.CroftError, msg=f"byte {at}"):
                    croft.open(self.save(flipped)).verify()
        for cut in range(0, len(one().bytes), 103):
            with self.assertRaises(croft.CroftError):
                croft.open(self.save(one().bytes[:cut]))


if __name__ == "__main__":
    unittest.main()
