"""Verifies, lists and dumps .croft files: python -m croft verify|list|dump FILE [--root DIRECTORY]"""
import argparse, sys, uuid

from .checksums import xxh3
from .file import File
from .sets import SIGNATURE, open_set
from .state import CroftError


def main():
    parser = argparse.ArgumentParser("python -m croft", description="Reads .croft files.")
    parser.add_argument("command", choices=["verify", "list", "dump"])
    parser.add_argument("file")
    parser.add_argument("--root", help="where adopted files and bases may be")
    args = parser.parse_args()
    try:
        with open(args.file, "rb") as start:
            is_set = start.read(8) == SIGNATURE
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
        print(f"{shown(file.path)}: valid, {file.newest.sequence} snapshots, {len(file.index.names)} names")
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
