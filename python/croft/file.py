"""A .croft file, open at one of its snapshots (sections 4 to 6, 10 and 11)."""
import pathlib, struct
import numpy as np

from .checksums import crc32c, xxh3
from .coded import decode
from .index import ADOPTED, BIG, CODED, CROFT, DATA, DIFFERENCE, FOREIGN, PAGE, ZERO, Index, in_slots
from .state import RULES, CroftError, need

SIGNATURE, SEALED = b"\x89CRF\r\n\x1a\n", 1
HEADER, RECORD = 256, 768  # sizes of the header and of a commit record
# The fields of both; reserved bytes and a checksum follow.
HEADER_FIELDS, HEADER_LAYOUT = ("signature major minor length uuid required_features readonly_features"
                                " optional_features log2 start slots"), "<8sHHI16sQQQB7xQQ"
COMMIT_FIELDS, COMMIT_LAYOUT = ("signature record sequence offset length directory uuid committed previous time"
                                " features root"), "<4sIQQQ16s16sQQqQ16s"
NUMPY = {"float64": "<f8", "float32": "<f4", "float16": "<f2", "int64": "<i8", "int32": "<i4", "int16": "<i2",
         "int8": "|i1", "uint8": "|u1", "uint16": "<u2", "uint32": "<u4", "uint64": "<u8", "bool": "|b1",
         "complex64": "<c8", "complex128": "<c16"}


def with_checksum(content, size):
    """A header or commit record: the content, zeros, and the CRC32C of both."""
    content = content.ljust(size - 4, b"\0")
    return content + struct.pack("<I", crc32c(content))


def _summed(data, at, size):
    found = bytes(data[at:at + size])
    need(len(found) == size and struct.unpack_from("<I", found, size - 4)[0] == crc32c(found[:-4]), 14,
         f"what is at {at} is not whole")
    return found


def _place(header, sequence):
    """The place of a commit record: the first one follows the header, the others take turns between the slots."""
    return HEADER if sequence == 1 else header["slots"] + PAGE * (sequence % 2)


def read_record(data, at, names, layout):
    values = dict(zip(names.split(), struct.unpack_from(layout, data, at)))
    need(all(v < 1 << 63 for k, v in values.items() if isinstance(v, int) and not k.endswith("features")), 1,
         "a number is past 2^63-1")
    return values


class Commit:
    """A commit record, checked as far as that goes without its index."""

    def __init__(self, data, at, header, place=None):
        page = _summed(data, at, RECORD)
        need(page[:4] == b"CMIT", 14, f"there is no commit record at {at}")
        length, message = struct.unpack_from("<I", page, 4)[0], b""
        need(length == 112 or 624 <= length <= RECORD - 4, 15, f"the commit record is {length} bytes long")
        need(not struct.unpack_from("<Q", page, 88)[0], 13, "the commit needs unknown features")
        need(not any(page[length:-4]), 9, "reserved bytes of the commit record are not zero")
        self.__dict__.update(read_record(page, 0, COMMIT_FIELDS, COMMIT_LAYOUT))
        if length > 112:
            size = struct.unpack_from("<I", page, 112)[0]
            message = page[116:116 + size]
            need(size <= 508, 15, "the message has no possible length")
            need(not any(page[116 + size:624]), 9, "bytes after the message are not zero")
        try:
            self.message, self.page = message.decode(), page
        except UnicodeDecodeError:
            raise CroftError(6, "the message is not UTF-8") from None
        need(self.uuid == header["uuid"], 17, "the commit record is of another file")
        need(self.sequence > 0 and (place is None or place == _place(header, self.sequence)), 17,
             "the commit record is in the wrong place")
        need(self.offset % 64 == 0 and header["start"] <= self.offset <= self.committed
             and self.length <= self.committed - self.offset, 2, "the index is not inside the data")
        need(self.previous == (0 if self.sequence == 1 else self.offset - RECORD)
             and (self.sequence == 1 or self.previous >= header["start"]), 19,
             "the parent record is not where it must be")
        own, slots = (header["start"] if self.sequence == 1 else self.previous), header["slots"]
        need(not in_slots(header, own, self.offset + self.length)
             and (self.sequence == 1 or not slots or self.committed >= slots + 2 * PAGE)
             and not (self.sequence == 1 and in_slots(header, own, self.committed)), 2,
             "the commit does not leave the slots apart")
        need(self.committed <= len(data), 11,
             f"the file has {len(data)} bytes, commit {self.sequence} made it {self.committed}")


class File:
    """A .croft file, opened at one of its snapshots. Opening checks all of the index, `verify` all of the file.

    `header`, `commit` and `index` are what was read. `newest` is the newest commit, and `skipped` the error because of
    which a newer one was not opened, or None."""

    def __init__(self, path, sequence=None, root=None):
        self.path, self.root, self.skipped = pathlib.Path(path), root, None
        self.data, self.bases, self.made = map_file(self.path), {}, {}
        need(bytes(self.data[:8]) == SIGNATURE, 12, "the file does not begin as a .croft file does")
        need(len(self.data) >= DATA, 11, "the file ends in its first 1024 bytes")
        page = _summed(self.data, 0, HEADER)
        self.header = read_record(page, 0, HEADER_FIELDS, HEADER_LAYOUT)
        need(self.header["major"] == 1 and not self.header["required_features"], 13, "the file is of a newer version")
        need(self.header["length"] == HEADER and 16 <= self.header["log2"] <= 30, 15,
             "the header has impossible lengths")
        self.sealed, self.chunk = bool(self.header["readonly_features"] & SEALED), 1 << self.header["log2"]
        start, slots = self.header["start"], self.header["slots"]
        need(start >= DATA and start % 64 == 0, 2, "the data cannot start there")
        need(slots == 0 if self.sealed else slots >= start and slots % PAGE == 0 and slots < (1 << 63) - 2 * PAGE, 2,
             "the slots cannot be there")
        need(not any(page[57:64]) and not any(page[80:-4]), 9, "reserved bytes of the header are not zero")
        self.newest = self._open_sealed() if self.sealed else self._open_slots()
        if sequence is not None and sequence != self.newest.sequence:
            found = [commit for commit in self.chain() if commit.sequence == sequence]
            need(found, 17, f"there is no snapshot {sequence}")
            self._at(found[0])

    def _at(self, commit):
        self.commit, self.index = commit, Index(self.data, self.header, commit)
        return commit

    def _open_sealed(self):
        need(not self.data[HEADER:DATA].any(), 20, "a sealed file has a commit record behind its header")
        try:
            commit = Commit(self.data, len(self.data) - RECORD, self.header)
        except CroftError as e:
            raise CroftError(17, "the sealed file was cut or never finished") from e if e.code == RULES[14] else e
        need(commit.sequence == 1 and -(-commit.committed // 64) * 64 == len(self.data) - RECORD, 20,
             "the record is in the wrong place")
        return self._at(commit)

    def _open_slots(self):
        slots, start = [], self.header["slots"]
        for at in (start, start + PAGE) if len(self.data) >= start + 2 * PAGE else ():
            page = bytes(self.data[at:at + PAGE])
            if any(page):
                torn = page[:4] != b"CMIT" or struct.unpack_from("<I", page, RECORD - 4)[0] != crc32c(page[:RECORD - 4])
                slots.append((1 << 64 if torn else struct.unpack_from("<Q", page, 8)[0], at))
        odd_is_empty = all(at == start for _, at in slots)
        if odd_is_empty and self.data[HEADER:DATA].any():
            slots.append((0, HEADER))
        need(slots, 17, "the file has no commit record")
        for _, at in sorted(slots, reverse=True):
            try:
                commit = Commit(self.data, at, self.header, at)
                if at == HEADER and len(slots) == 1 and commit.committed < len(self.data) < start + 2 * PAGE:
                    self.skipped = CroftError(11, "the file ends behind its first snapshot and before its slots do")
                return self._at(commit)
            except CroftError as e:
                if e.code not in (RULES[11], RULES[14]):
                    raise
                self.skipped = self.skipped or e
        raise self.skipped

    def chain(self):
        """The commit records of all snapshots, newest first."""
        commit = self.newest
        while commit:
            yield commit
            if not commit.previous:
                return
            before = Commit(self.data, commit.previous, self.header)
            need(before.sequence == commit.sequence - 1 and before.committed <= commit.previous, 19,
                 "the parent record is another commit's")
            commit = before

    # ---- bytes

    def storage(self, number):
        """The bytes of the storage of that number as an array of uint8, the same one at every call. They are mapped
        copy-on-write, or copied if they are in several places, are shared by another storage or are compressed.

        Raises CroftError if they cannot be read."""
        if number not in self.made:
            nbytes, extents = int(self.index.tables["STOR"][number]["nbytes"]), self.index.extents_of(number)
            one = (len(extents) and all(extents["kind"] == extents["kind"][0])
                   and len(set(extents["base"].tolist())) == 1 and not extents["flags"].any())
            steps, lengths = np.diff(extents["offset"].astype(np.int64)), extents["length"][:-1].astype(np.int64)
            if one and extents["kind"][0] not in (ZERO, CODED) and (steps == lengths).all():
                data, at = self._base(int(extents["base"][0])), int(extents["offset"][0])
                self.made[number] = data[at:at + nbytes]
            else:
                made, at = np.zeros(nbytes, np.uint8), 0  # zeros take no memory until they are written to
                for run, length in zip(self.index.places_of(number), extents["length"].tolist()):
                    if run:
                        made[at:at + length] = self._content(run)
                    at += length
                self.made[number] = made
            if (extents["kind"] == ADOPTED).any():
                self._verify_runs([run for run, kind in zip(self.index.places_of(number), extents["kind"].tolist())
                                   if kind == ADOPTED])
        return self.made[number]

    def tensor(self, name):
        """A view of the tensor of that name or number, whatever its flags are. Packed elements come as the bytes that
        hold them, and those that NumPy has no type for as unsigned integers or bytes.

        Raises KeyError if there is no such name, and CroftError if the bytes cannot be read."""
        tensor = self.index.tensor(self.index.names[name] if isinstance(name, str) else name)
        data, bits, sizes = self.storage(tensor.storage), tensor.bits, tensor.sizes
        if tensor.is_packed():
            low, high = tensor.span()
            return data[low // 8:-(-high // 8)]
        form = np.dtype(NUMPY.get(tensor.dtype)
                        or {8: "u1", 16: "<u2", 32: "<u4", 64: "<u8"}.get(bits, f"V{bits // 8}"))
        form = form if 8 * form.itemsize == bits else np.dtype(f"V{bits // 8}")
        return np.ndarray(sizes, form, data, tensor.offset if 0 not in sizes else 0,
                          [s * form.itemsize for s in tensor.strides])

    def _content(self, run):
        """The bytes of an extent: those of a run as they are, or decoded and compared with their checksum."""
        data, coding = self._base(run.base)[run.offset:run.offset + run.size], run.coding
        if not coding:
            return data
        reference = (self._base(coding.base)[coding.reference:coding.reference + run.length]
                     if coding.codec == DIFFERENCE else None)
        data = decode(data.tobytes(), run, reference)
        need(crc32c(data) == self.index.runs[run][1], 14, f"the decoded chunk at {run.offset} does not match: "
             f"{', '.join(self._touched(run.base, run.offset))}")
        return data

    def dtype(self, name):
        """The element type of the tensor of that name, as a text such as `float32`."""
        return self.index.dtypes[int(self.index.tables["TENS"]["dtype"][self.index.names[name]])]

    def _base(self, number):
        """The bytes of this file or of a base, resolved below the root."""
        if number not in self.bases:
            if number == 0:
                self.bases[0] = map_file(self.path)
                return self.bases[0]
            base, hint = self.index.tables["BASE"][number - 1], self.index.paths[number - 1]
            need(self.root or base["kind"] == CROFT, 18, f"{hint!r} is needed; say below which directory it may be")
            data = map_file(below(self.root or self.path.parent, hint, 18))
            if base["kind"] == CROFT:
                need(bytes(data[:8]) == SIGNATURE and bytes(data[16:32]) == base["uuid"].tobytes()
                     and len(data) >= base["length"],
                     18, f"{hint!r} is not the file that was meant")
                self._named(base, hint)
            need(base["kind"] == CROFT or len(data) == base["length"], 18, f"{hint!r} has another size")
            self.bases[number] = data
        return self.bases[number]

    def _named(self, base, hint):
        """A base of our own kind, open at the snapshot that is meant."""
        other = File(below(self.root or self.path.parent, hint, 18), root=self.root)
        commits = [c for c in other.chain() if c.sequence == base["sequence"]]
        need(commits and commits[0].root == base["digest"].tobytes() and commits[0].committed == base["length"], 18,
             f"{hint!r} has not that snapshot")
        other._at(commits[0])
        return other

    # ---- verifying

    def verify(self):
        """Reads all bytes and checks every rule on every snapshot, oldest last.

        Raises CroftError at the first rule that is broken."""
        if self.skipped:
            raise self.skipped
        need(not self.data[DATA:self.header["start"]].any(), 3, "a byte before the data start is not zero")
        slots = self.header["slots"]
        covered, done, newer = [(slots, slots + 2 * PAGE, 1)] if self.newest.sequence > 1 else [], set(), None
        need(self.newest.sequence < 2
             or not self.data[_place(self.header, self.newest.sequence) + RECORD:][:PAGE - RECORD].any(), 3,
             "a byte behind a commit record is not zero")
        for commit in self.chain():
            self._at(commit)
            need(xxh3(self.index.bytes) == commit.root, 14,
                 f"the root digest of snapshot {commit.sequence} does not match")
            free = set(self.index.tables["FREE"].tolist()) if "FREE" in self.index.tables else set()
            if newer:
                slot = _place(self.header, max(commit.sequence, 3) if commit.sequence % 2 else commit.sequence)
                before = commit.page if commit.sequence > 1 else b""
                need(newer[0].sequence != self.newest.sequence
                     or bytes(self.data[slot:slot + PAGE]) == before.ljust(PAGE, b"\0"), 19,
                     "the slot that is not the newest commit's has not the commit before")
                need(free <= newer[1], 19, "a free range is no longer free")
            newer = commit, free
            keys = {run: (commit.sequence if run.base or run.coding and run.coding.base else 0, run)
                    for run in self.index.runs}
            self._verify_runs([run for run, key in keys.items() if key not in done])
            done |= set(keys.values())
            covered += [(run.offset, run.offset + run.size, 0) for run in keys if run.base == 0]
            covered += [(run.coding.reference, run.coding.reference + run.length, 0) for run in keys
                        if run.coding and run.coding.codec == DIFFERENCE and run.coding.base == 0]
            covered.append((commit.previous or commit.offset, commit.offset + commit.length, 1))
            covered += [(o, o + n, 1) for o, n in free] if commit is self.newest else []
            self._verify_bases()
            self.index.check_names()
        end, firm = self.header["start"], 0
        for start, stop, solid in sorted(covered) + [(self.newest.committed, self.newest.committed, 0)]:
            need(start >= end or not solid and start >= firm, 2,
                 "an extent meets an index, a parent record, a slot or a free range")
            need(not self.data[end:start].any(), 3, f"a byte between {end} and {start} that nothing covers is not zero")
            end, firm = max(end, stop), max(firm, stop) if solid else firm
        need(self.sealed or Commit(self.data, HEADER, self.header).page == commit.page, 14,
             "the first commit record is another one")
        self._at(self.newest)
        need(not self.sealed or not self.data[self.newest.committed:-RECORD].any(), 3,
             "a byte before the last record is not zero")

    def _verify_runs(self, runs):
        for run in runs:
            data, (digest, crc) = self._content(run), self.index.runs[run]
            need(run.coding or crc32c(data) == crc, 14,
                 f"the chunk at {run.offset} does not match: {', '.join(self._touched(run.base, run.offset))}")
            need(xxh3(data) == digest, 14, f"the digest of the extent at {run.offset} does not match")

    def _touched(self, base, place):
        """The names of the tensors on a storage with that chunk."""
        e = self.index.tables["EXTN"]
        hit = np.flatnonzero((e["kind"] != ZERO) & (e["base"] == base) & (e["offset"] == place))
        storages = set(np.searchsorted(self.index.firsts[1:], hit, side="right").tolist())
        return [name for name, i in self.index.names.items()
                if int(self.index.tables["TENS"]["storage"][i]) in storages]

    def _verify_bases(self):
        for number, base in enumerate(self.index.tables.get("BASE", ()), 1):
            data, hint = self._base(number), self.index.paths[number - 1]
            if base["kind"] == FOREIGN:
                need(xxh3(data) == base["digest"].tobytes(), 18, f"{hint!r} has other bytes")
                continue
            depths = [b["depth"] + 1 for b in self._named(base, hint).index.tables.get("BASE", ())
                      if b["kind"] == CROFT]
            need(base["depth"] == max(depths, default=0), 18, f"{hint!r} has another depth")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.made, self.bases = {}, {}


def map_file(path):
    with open(path, "rb") as file:
        size = file.seek(0, 2)
        return np.asarray(np.memmap(file, np.uint8, "c")) if size else np.zeros(0, np.uint8)


def below(root, hint, rule):
    root = pathlib.Path(root).resolve()
    path = (root / hint).resolve()
    need(path.is_relative_to(root) and path.is_file(), rule, f"{hint!r} is not a file below {root}")
    return path
