"""Compares what croft reads from real files with what the real libraries do; interop/wild starts it."""
import argparse
import collections
import csv
import fnmatch
import hashlib
import json
import os
import pathlib
import re
import select
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
COLUMNS = ["file", "bytes", "project", "path", "kind", "library", "stubs", "compared", "others", "opens", "code",
           "problem", "equal", "names", "steps", "note", "elements"]
SUFFIXES = {"safetensors": ".safetensors", "npy": ".npy", "npz": ".npz", "gguf": ".gguf", "torch7": ".t7"}

# PyTorch is given files that it reads with stubs.
OBJECTS = {".pt": ("--to-set", "torch.objects=write")}


class Worker:
    """A process that answers lines with lines, and is started anew when it takes too long or ends."""

    def __init__(self, command, seconds, cwd):
        self.command, self.seconds, self.cwd, self.process = command, seconds, cwd, None

    def ask(self, line):
        if self.process is None:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=self.cwd)
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
            answer = self.line()
        except BrokenPipeError:
            answer = b""
        if not answer.endswith(b"\n"):
            self.process.kill()
            ended = self.process.wait()
            self.process = None
            raise TimeoutError("took too long" if ended == -9 else f"ended with {ended}")
        return answer.decode().rstrip("\n")

    def line(self):
        answer = bytearray()
        while not answer.endswith(b"\n") and select.select([self.process.stdout], [], [], self.seconds)[0]:
            part = os.read(self.process.stdout.fileno(), 1 << 20)
            if not part:
                break
            answer += part
        return bytes(answer)


class Croft:
    """Runs commands in one JVM."""

    def __init__(self, java, libraries, seconds, folder):
        self.folder = folder
        self.worker = Worker([java, "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow",
                              "-Xmx2g", "-XX:MaxDirectMemorySize=6g", "-XX:+UseSerialGC", "-cp", f"{libraries}/*",
                              str(HERE / "Commands.java")], seconds, folder)
        if self.run("formats")[0] != 0:
            sys.exit("wild: croft does not start")

    def run(self, *arguments):
        """The exit code and the message."""
        try:
            code, message = self.worker.ask("\t".join([str(self.folder / "out"), *map(str, arguments)])).split("\t", 1)
            return int(code), message
        except TimeoutError as e:
            return -1, f"{arguments[0]} {e} [TIME]"

    def inspect(self, file, *options):
        """The exit code, the message, and the report."""
        code, message = self.run("inspect", "--json", *options, file)
        return code, message, json.loads((self.folder / "out").read_bytes()) if code == 0 else {}


class Libraries:
    """The real libraries, without network if that is permitted."""

    def __init__(self, seconds, folder):
        command = [sys.executable, str(HERE / "libraries.py"), str(seconds)]
        isolated = next((way for way in (["unshare", "-n"], ["unshare", "-rn"]) if shutil.which("unshare") and
                         subprocess.run([*way, "true"], stderr=subprocess.DEVNULL).returncode == 0), None)
        if isolated is None:
            print("wild: the libraries run with network, as unshare is not permitted", file=sys.stderr)
        self.worker = Worker([*(isolated or []), *command], 2 * seconds + 60, folder)

    def read(self, file):
        try:
            return json.loads(self.worker.ask(json.dumps(str(file))))
        except TimeoutError as e:
            return {"kind": "?", "refused": str(e)}


def elements(report):
    """Every tensor of a report of croft by name: its dtype, shape and digest."""
    return {t["name"]: element(t["dtype"], t["shape"], t["sha256"]) for t in report["tensors"]}


def element(dtype, shape, digest):
    return f"{dtype.removeprefix('gguf:')} {'x'.join(map(str, shape)) or '-'} {digest}"


def difference(ours, theirs):
    """What the library reads and croft does not, or the other way round; None if there is nothing."""
    if theirs.get("more"):      # What croft may have besides: scalars and constants.
        ours = {name: each for name, each in ours.items()
                if each in set(theirs["elements"].values()) or name in theirs["elements"]}
    for one, other, of in ((theirs["elements"], ours, "croft"), (ours, theirs["elements"], "the library")):
        found = set(other.values())
        found.update(theirs["optional"])
        missing = [(name, each) for name, each in one.items() if each not in found]
        if missing:
            return f"{len(missing)} of {len(one)} are not what {of} reads, as {missing[0][0]!r}: {missing[0][1]}"[:300]
    return None


def compare(croft, libraries, folder, file, known):
    """The line of the report about a file."""
    theirs = known or libraries.read(file)
    line = {"kind": theirs["kind"], "library": theirs.get("refused") or "reads", "stubs": theirs.get("stubs", 0),
            "compared": len(theirs.get("elements", ())), "others": len(theirs.get("others", ())),
            "elements": json.dumps(theirs)}
    line["opens"], line["problem"], report = croft.inspect(file)
    if line["opens"] == 0:
        line["opens"], line["problem"], report = croft.inspect(file, "--hash")
    if line["opens"] != 0:
        line["problem"] = line["problem"].split(" croft: ")[0]
        line["note"] = "in part" if "the others can" in line["problem"] else ""
        found = re.findall(r"\[([A-Z0-9-]+)\]", line["problem"])
        return line | {"code": found[0] if found else "exit " + str(line["opens"])}
    ours = elements(report)
    if theirs["kind"] == "Torch7" and "refused" not in theirs:
        # torchfile has arrays for storages by themselves.
        single = {storage["sha256"] for storage in report["storages"]} - {t["sha256"] for t in report["tensors"]}
        theirs["optional"] += [each for each in theirs["elements"].values() if each.split()[-1] in single]
    line["note"] = " ".join(sorted({"unread " + part["kind"] for part in report.get("unread", [])}))
    if "refused" not in theirs:
        line["equal"] = difference(ours, theirs) or "yes"
        line["names"] = "yes" if ours == theirs["elements"] else ""
    return line | {"steps": round_trip(croft, libraries, folder, file, report, ours, theirs)}


def round_trip(croft, libraries, folder, file, report, ours, theirs):
    """What fails when the file is converted to .croft, verified and converted back; nothing if all succeeds."""
    kept, back = folder / "kept.croft", folder / ("back" + SUFFIXES.get(report["format"], ".pt"))
    for step, arguments in (("convert", ("convert", file, kept)), ("verify", ("verify", kept)),
                            ("back", ("convert", *OBJECTS.get(back.suffix, ()), kept, back))):
        code, message = croft.run(*arguments)
        if code != 0:
            return f"{step}: {message}"
    for copy in kept, back:
        code, message, again = croft.inspect(copy, "--hash")
        if code != 0:
            return f"inspect {copy.name}: {message}"
        if elements(again) != ours:
            return f"{copy.name} has other tensors"
    if "refused" not in theirs and theirs["kind"] != "TorchScript":
        read = libraries.read(back)
        if "refused" in read:
            return f"library on {back.name}: {read['refused']}"
        if not set(theirs["elements"].values()) <= set(read["elements"].values()) | set(read["optional"]):
            return f"library reads other tensors from {back.name}"
        if not set(theirs["others"]) <= set(read["others"]):
            return f"library reads other texts or records from {back.name}"
    return ""


def table(header, rows):
    """Prints a table for Markdown, numbers to the right."""
    widths = [max(len(str(row[i])) for row in [header, *rows]) for i in range(len(header))]
    right = [all(isinstance(row[i], int) for row in rows) for i in range(len(header))]
    rule = ["-" * (width - 1) + ":" if is_right else "-" * width for width, is_right in zip(widths, right)]
    for row in [header, rule, *rows]:
        print("|", " | ".join(str(cell).rjust(width) if is_right else str(cell).ljust(width)
                              for cell, width, is_right in zip(row, widths, right)), "|")


def summary(name, lines):
    reads = [line for line in lines if line["library"] == "reads"]
    both = [line for line in reads if line["opens"] == 0]
    return [name, len(lines), len({line["project"] for line in lines}), len(reads),
            sum(line["stubs"] > 0 for line in reads), sum(line["compared"] for line in reads),
            sum(line["note"] == "in part" for line in lines), sum(line["opens"] == 0 for line in lines), len(both),
            sum(line["equal"] == "yes" for line in both),
            sum(line["equal"] == "yes" and not line["steps"] for line in both)]


def show(lines):
    kinds = sorted({line["kind"] for line in lines}, key=str.lower)
    table(["kind", "files", "projects", "library reads", "with stubs", "tensors", "in part", "croft opens", "both",
           "equal", "and back"],
          [summary(kind, [line for line in lines if line["kind"] == kind]) for kind in kinds]
          + [summary("all", lines)])
    print("\nRefused:")
    refused = collections.defaultdict(list)
    for line in lines:
        if line["opens"] != 0:
            refused[line["kind"], line["code"], general(line["problem"])].append(line)
    table(["kind", "code", "problem", "files", "library reads", "projects"],
          [[*key, len(each), sum(line["library"] == "reads" for line in each), len({e["project"] for e in each})]
           for key, each in sorted(refused.items(), key=lambda item: -len(item[1]))])
    for title, column in (("Tensors differ", "equal"), ("Conversion fails", "steps")):
        found = [line for line in lines if line[column] not in ("", "yes")]
        print(f"\n{title}: {len(found)}")
        for line in found:
            print(f"  {line['kind']}  {line['project']}:{line['path']}  {line['file']}  {line[column]}")


def general(problem):
    """A problem without what only this file has: names, places and numbers, and the remedy."""
    text = re.sub(r"^croft: \S+: | \(at byte \w+\)| \[[A-Z0-9-]+\].*$", "", problem)
    return re.sub(r"\d[\d,.]*", "N", re.sub(r"'[^']*'", "'…'", text)).strip()[:110]


def main():
    parser = argparse.ArgumentParser(prog="interop/wild")
    parser.add_argument("java", help=argparse.SUPPRESS)
    parser.add_argument("libraries", help=argparse.SUPPRESS)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--list", type=pathlib.Path)
    parser.add_argument("--report", type=pathlib.Path)
    parser.add_argument("--only", default="*")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--again", type=pathlib.Path)
    asked = parser.parse_args()
    projects, known = {}, {}
    if asked.list:
        for sha256, _, project, _, path, *_ in csv.reader(asked.list.open(), delimiter="\t"):
            projects[sha256] = (project, path)
    csv.field_size_limit(1 << 30)
    if asked.again:
        known = {line["file"]: json.loads(line["elements"])
                 for line in csv.DictReader(asked.again.open(), delimiter="\t") if line["library"] == "reads"}
    lines = []
    with tempfile.TemporaryDirectory(prefix="wild-") as temporary:
        folder = pathlib.Path(temporary)
        folder.chmod(0o755)
        croft = Croft(asked.java, asked.libraries, asked.seconds, folder)
        libraries = Libraries(asked.seconds, folder)
        report = csv.DictWriter((asked.report or folder / "report").open("w"), COLUMNS, delimiter="\t")
        report.writeheader()
        for each in sorted(each for each in asked.folder.iterdir() if fnmatch.fnmatch(each.name, asked.only)):
            file = each / ".metadata" if each.is_dir() else each
            if not file.exists():       # Only distributed checkpoints are directories.
                continue
            project, path = projects.get(each.stem) or projects.get(digest(file)) or ("", each.name)
            line = dict.fromkeys(COLUMNS, "") | {"file": each.name, "bytes": file.stat().st_size, "project": project,
                                                 "path": path}
            line |= compare(croft, libraries, folder, file.absolute(), known.get(each.name))
            report.writerow(line)
            lines.append(line)
            for made in [*folder.glob("kept.*"), *folder.glob("back.*")]:
                made.unlink()
    show(lines)


def digest(file):
    with file.open("rb") as bytes_:
        return hashlib.file_digest(bytes_, "sha256").hexdigest()


if __name__ == "__main__":
    main()
