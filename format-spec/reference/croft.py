#!/usr/bin/env python3
"""An independent reader of .croft files, written from format-spec/SPEC.md alone. Needs Python 3.11 and NumPy, and the
package zstandard for extents that are coded.

    python format-spec/reference/croft.py verify|list|dump FILE [--root DIRECTORY]

    with croft.open("model.croft") as file:          # or open(path, sequence=3, root=directory of adopted files)
        weight = file.tensor("model/wte.weight")     # a NumPy view; tensors of one storage share its memory

Views are copy-on-write: writing to them never reaches the file. What NumPy has no type for comes as unsigned integers.
Every refusal is a CroftError with the code of the rule that was broken, such as V14-CHECKSUM.
"""
import argparse, builtins, pathlib, struct, sys, uuid
import numpy as np

from checksums import crc32c, xxh3
from coded import decode
from index import (ADOPTED, BIG, CODED, CROFT, DATA, DIFFERENCE, FOREIGN, MAX_TEXT, PAGE, ZERO, Index, check_path,
                   in_slots)
from slices import read_slices
from state import RULES, CroftError, need

SEALED = 1
HEADER, RECORD = 256, 768  # sizes of the header and of a commit record
NUMPY = {"float64": "<f8", "float32": "<f4", "float16": "<f2", "int64": "<i8", "int32": "<i4", "int16": "<i2",
         "int8": "i1",
         "uint8": "u1", "uint16": "<u2", "uint32": "<u4", "uint64": "<u8", "bool": "?", "complex64": "<c8",
         "complex128": "<c16"}


def _summed(data, at, size):
    found = bytes(data[at:at + size])
    need(len(found) == size and struct.unpack_from("<I", found, size - 4)[0] == crc32c(found[:-4]), 14,
         f"what is at {at} is not whole")
    return found


def _place(header, sequence):
    """The place of a commit record: the first one follows the header, the others take turns between the slots."""
    return HEADER if sequence == 1 else header["slots"] + PAGE * (sequence % 2)


def _record(data, at, names, layout):
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
        self.__dict__.update(_record(page, 8,
                                     "sequence offset length directory uuid committed previous time features root",
                                     "<QQQ16s16sQQqQ16s"))
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
    """A .croft file, opened at one of its snapshots. Opening checks all of the index, `verify` all of the file."""

    def __init__(self, path, sequence=None, root=None):
        self.path, self.root, self.passed_over = pathlib.Path(path), root, None
        self.data, self.bases, self.made = _map(self.path), {}, {}
        need(bytes(self.data[:8]) == b"\x89CRF\r\n\x1a\n", 12, "the file does not begin as a .croft file does")
        need(len(self.data) >= DATA, 11, "the file ends in its first 1024 bytes")
        page = _summed(self.data, 0, HEADER)
        self.header = _record(page, 8, "major minor length uuid required_features readonly_features optional_features"
                              " log2", "<HHI16sQQQB")
        self.header.update(_record(page, 64, "start slots", "<QQ"))
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
                    self.passed_over = CroftError(11, "the file ends behind its first snapshot and before its slots do")
                return self._at(commit)
            except CroftError as e:
                if e.code not in (RULES[11], RULES[14]):
                    raise
                self.passed_over = self.passed_over or e
        raise self.passed_over

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
        """The bytes of a storage as an array of uint8, the same one at every call."""
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
        """A view of the tensor of that name, or number."""
        number = self.index.names[name] if isinstance(name, str) else name
        dtype, rank, flags, storage, offset, dim, _ = self.index.tables["TENS"][number].tolist()
        sizes, strides = self.index.tables["DIMS"]["dim"][dim:dim + 2 * rank].reshape(2, rank).tolist()
        data, bits = self.storage(storage), int(self.index.tables["DTYP"]["bits"][dtype])
        if bits % 8 or flags >> 4:  # packed elements come as the bytes that hold them
            low, high = self.index.span(number)
            return data[low // 8:-(-high // 8)]
        form = np.dtype(NUMPY.get(self.index.dtypes[dtype])
                        or {8: "u1", 16: "<u2", 32: "<u4", 64: "<u8"}.get(bits, f"V{bits // 8}"))
        form = form if 8 * form.itemsize == bits else np.dtype(f"V{bits // 8}")
        return np.ndarray(sizes, form, data, offset if 0 not in sizes else 0, [s * form.itemsize for s in strides])

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
        return self.index.dtypes[int(self.index.tables["TENS"]["dtype"][self.index.names[name]])]

    def _base(self, number):
        """The bytes of this file or of a base, resolved below the root."""
        if number not in self.bases:
            if number == 0:
                self.bases[0] = _map(self.path)
                return self.bases[0]
            base, hint = self.index.tables["BASE"][number - 1], self.index.paths[number - 1]
            need(self.root or base["kind"] == CROFT, 18, f"{hint!r} is needed; say below which directory it may be")
            data = _map(below(self.root or self.path.parent, hint, 18))
            if base["kind"] == CROFT:
                need(bytes(data[:8]) == b"\x89CRF\r\n\x1a\n" and bytes(data[16:32]) == base["uuid"].tobytes()
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
        """Checks every rule on every snapshot, oldest last; raises at the first that is broken."""
        if self.passed_over:
            raise self.passed_over
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


def _map(path):
    with builtins.open(path, "rb") as file:
        size = file.seek(0, 2)
        return np.memmap(file, np.uint8, "c") if size else np.zeros(0, np.uint8)


def below(root, hint, rule):
    root = pathlib.Path(root).resolve()
    path = (root / hint).resolve()
    need(path.is_relative_to(root) and path.is_file(), rule, f"{hint!r} is not a file below {root}")
    return path


def _set_bytes(path):
    """The bytes of a set with its head, and where its slices start."""
    data = bytes(_map(path))
    need(data[:8] == b"\x89CRS\r\n\x1a\n", 12, "the file does not begin as a set does")
    need(len(data) >= 68, 11, "the set is cut")
    head = _record(data, 8, "major minor count uuid size text length features slices", "<HHI16sIIQQQ")
    need(head["major"] == 1 and not head["features"], 13, "the set is of a newer version")
    need(len(data) >= head["length"], 11, "the set is cut")
    need(head["count"] <= BIG and len(data) <= 1 << 29, 8, "the set has too many shards or bytes")
    need(head["length"] >> 63 == head["slices"] >> 63 == 0, 1, "a number of the set is too large")
    need(head["length"] == len(data) == 68 + head["count"] * head["size"] + head["text"] + head["slices"]
         and head["size"] >= 80, 15, "the set has impossible lengths")
    need(struct.unpack("<I", data[-4:])[0] == crc32c(data[:-4]), 14, "the checksum of the set does not match")
    return data, head, len(data) - 4 - head["slices"]


def set_slices(path):
    """The run of a set, and its tensors by name; see slices.read_slices."""
    data, head, start = _set_bytes(path)
    return read_slices(data[start:-4], head["count"]) if head["slices"] else (None, {})


def set_tensor(path, name):
    """A tensor of a set, its parts put together. Each part is read from the shard that has it."""
    dtype, bits, shape, parts = set_slices(path)[1][name]
    shards, whole = open_set(path), None
    for shard, offset, size in parts:
        need(name in shards[shard].index.names, 22, f"the shard {shard} has no {name!r}")
        part = shards[shard].tensor(name)
        need(shards[shard].dtype(name) == dtype and part.shape == size, 22, f"{name!r} is another tensor in a shard")
        whole = np.zeros(shape, part.dtype) if whole is None else whole
        whole[tuple(slice(o, o + s) for o, s in zip(offset, size))] = part
    return np.zeros(shape, NUMPY.get(dtype, f"<u{bits // 8}")) if whole is None else whole


def open_set(path):
    """The shards of a set, each opened at the snapshot that the set names."""
    data, head, start = _set_bytes(path)
    if head["slices"]:
        read_slices(data[start:-4], head["count"])
    shards, paths, text = [], set(), data[64 + head["count"] * head["size"]:start]
    for at in range(64, 64 + head["count"] * head["size"], head["size"]):
        want = _record(data, at, "uuid root sequence committed path size", "<16s16sQQII")
        need(not any(data[at + 56:at + 80]), 9, "reserved bytes of a shard are not zero")
        need(0 < want["size"] <= MAX_TEXT, 8, "a path is empty or too long")
        need(want["path"] + want["size"] <= len(text), 10, "a path is not there")
        hint = text[want["path"]:want["path"] + want["size"]].decode("utf-8", "replace")
        check_path(hint)
        need(hint not in paths and "\ufffd" not in hint, 6, "a path comes twice or is not UTF-8")
        paths.add(hint)
        shard = File(below(pathlib.Path(path).parent, hint, 21))
        need(shard.header["uuid"] == want["uuid"], 21, f"{hint!r} is a foreign file")
        found = [c for c in shard.chain()
                 if (c.sequence, c.root, c.committed) == (want["sequence"], want["root"], want["committed"])]
        need(found, 21, f"{hint!r} is stale: it has not the snapshot of the set")
        shard._at(found[0])
        shards.append(shard)
    return shards


def open(path, sequence=None, root=None):
    return File(path, sequence, root)


def main():
    parser = argparse.ArgumentParser(description="Reads .croft files.")
    parser.add_argument("command", choices=["verify", "list", "dump"])
    parser.add_argument("file")
    parser.add_argument("--root", help="where adopted files and bases may be")
    args = parser.parse_args()
    try:
        with builtins.open(args.file, "rb") as start:
            is_set = start.read(4) == b"\x89CRS"
        for file in open_set(args.file) if is_set else [File(args.file, root=args.root)]:
            show(file, args.command)
    except CroftError as e:
        sys.exit(shown(f"{args.file}: {e}"))


def shown(text):
    """Text that neither breaks the line nor commands a terminal."""
    return ascii(str(text))[1:-1]


def show(file, command):
    if command == "verify":
        file.verify()
        print(f"{shown(file.path)}: sound, {file.newest.sequence} snapshots, {len(file.index.names)} names")
    elif command == "list":
        for c in file.chain():
            print(f"{c.sequence} at {c.offset}: {c.length} bytes of index, {c.committed} committed, time {c.time}, "
                  f"root {c.root.hex()} {ascii(c.message)}")
    else:
        print(f"id {uuid.UUID(bytes=file.header['uuid'])}, chunks of {file.chunk}, snapshot {file.commit.sequence}, "
              f"metadata {ascii(file.index.metadata)}")
        for name, number in file.index.names.items():
            view, storage = file.tensor(name), int(file.index.tables["TENS"]["storage"][number])
            print(f"{ascii(name)}: {shown(file.dtype(name))} {list(view.shape)} {list(view.strides)} "
                  f"of storage {storage}, XXH3 {xxh3(view.tobytes()).hex()}")


if __name__ == "__main__":
    main()
