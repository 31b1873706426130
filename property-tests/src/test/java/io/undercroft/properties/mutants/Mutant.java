package io.undercroft.properties.mutants;

import io.undercroft.properties.Repository;
import java.io.IOException;
import java.nio.file.Files;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/// A fault that is planted in a copy of the sources.
///
/// @param fault what is wrong with it, as a sentence
/// @param law the class of laws that must notice, or the method of it as `Class#method`
/// @param edits the changes
record Mutant(String fault, String law, List<Edit> edits) {
    static final String STORAGE = "storage-core/src/main/java/io/undercroft/storage/";
    static final String SERIALIZER = "serializer/src/main/java/io/undercroft/serializer/internal/";
    static final String FORMAT = "format-spec/src/main/java/io/undercroft/format/internal/";
    static final String MMAP = "mmap/src/main/java/io/undercroft/mmap/";
    private static final String LAWS = "io.undercroft.properties.laws.";
    private static final String FAULTS = "io.undercroft.properties.faults.FaultLawsTest";
    private static final String TENSORS = "io.undercroft.properties.tensors.";
    private static final String THREADS = "io.undercroft.properties.threads.";

    /// A change of a text that a file has once.
    ///
    /// @param file the file, from the top of the repository on
    /// @param from the text
    /// @param to what is there instead
    record Edit(String file, String from, String to) {}

    private static Mutant of(String fault, String law, String file, String from, String to) {
        return new Mutant(fault, law, List.of(new Edit(file, from, to)));
    }

    /// {@return the changed sources, by their files}
    ///
    /// @throws IllegalStateException if a text is not there once, since the sources have changed
    Map<String, String> sources() throws IOException {
        Map<String, String> changed = new LinkedHashMap<>();
        for (Edit edit : edits) {
            String source = changed.containsKey(edit.file)
                    ? changed.get(edit.file)
                    : Files.readString(Repository.path(edit.file));
            int at = source.indexOf(edit.from);
            if (at < 0 || source.indexOf(edit.from, at + 1) >= 0) {
                throw new IllegalStateException(edit.file + " does not have this once: " + edit.from);
            }
            changed.put(edit.file, source.replace(edit.from, edit.to));
        }
        return changed;
    }

    /// {@return all of them, some of each kind first}
    static List<Mutant> all() {
        String storages = TENSORS + "StorageLawsTest#storagesAreWhatTheModelSays";
        String files = TENSORS + "StorageLawsTest#storagesOfFilesAreWhatTheModelSays";
        String views = TENSORS + "TensorLawsTest#everyElementOfAViewIsTheOneItShouldBe";
        String refusals = TENSORS + "TensorLawsTest#whatIsOutsideIsRefused";
        String states = LAWS + "RoundTripLawsTest#whatIsOpenedIsWhatWasSaved";
        String histories = LAWS + "SnapshotLawsTest#everySnapshotIsWhatWasSaved";
        String sets = "io.undercroft.properties.sets.SetHistoryLawsTest#aSetIsWhatWasCommitted";
        String storage = STORAGE + "Storage.java";
        String backing = STORAGE + "StorageBacking.java";
        String view = STORAGE + "Views.java";
        String strides = STORAGE + "ViewStrides.java";
        String strided = STORAGE + "internal/StridedCopy.java";
        String tree = FORMAT + "StateTreeWriter.java";
        String index = SERIALIZER + "extents/ContentIndex.java";
        String writer = SERIALIZER + "extents/ExtentWriter.java";
        String follower = "serializer/src/main/java/io/undercroft/serializer/Follower.java";
        String save = SERIALIZER + "writing/Save.java";
        String members = SERIALIZER + "sets/OpenSet.java";
        return List.of(
                of("resize loses the last byte that it should keep", storages, storage,
                        "long kept = Math.min(newSize, nbytes);",
                        "long kept = Math.max(Math.min(newSize, nbytes) - 1, 0);"),
                of("a tensor may reach one byte past its storage", refusals, STORAGE + "Tensor.java",
                        "if (end > storage.nbytes()) {", "if (end > storage.nbytes() + 1) {"),
                new Mutant("chunks are taken to be equal by their digest alone, and the digest is weak", histories,
                        List.of(new Edit(index, "&& (place.equals(proven) || isSame(chunk, place, coding));", ";"),
                                new Edit(FORMAT + "ExtentDigester.java",
                                        "new Digest128(digest.getMostSignificantBits(), "
                                                + "digest.getLeastSignificantBits()));",
                                        "new Digest128(7, digest.getLeastSignificantBits() & 1));"))),
                of("an append writes over the snapshots before it", histories, SERIALIZER + "writing/Appender.java",
                        "long committed = parent.commit().committedLength();",
                        "long committed = parent.commit().committedLength() / 2;"),
                of("a slice has no reference to its storage", storages, backing,
                        "return new StorageBacking(null, null, base.retain());",
                        "return new StorageBacking(null, null, base);"),
                of("numbers that are not numbers lose their payload", states, tree,
                        "    public void writeFloat(double value) {\n        tag(Tag.FLOAT);\n"
                                + "        fixed(Double.doubleToRawLongBits(value), Long.BYTES);",
                        "    public void writeFloat(double value) {\n        tag(Tag.FLOAT);\n"
                                + "        fixed(Double.doubleToLongBits(value), Long.BYTES);"),
                of("of two threads that retain and release a storage, one does not count",
                        THREADS + "ReferenceCountSchedules#whoeverRetainsReadsTheBytesWhileAnotherReleases", backing,
                        "while (count > 0 && !references.compareAndSet(count, count + 1)) {",
                        "if (count > 0) {\n            references.set(count + 1);\n        }\n"
                                + "        while (references.get() < 0) {"),
                // ---- resize ----
                of("memory that is shared with other processes can be resized", storages, storage,
                        "return allocator != null && memory != null && memory.sharing() == Allocation.Sharing.PRIVATE;",
                        "return allocator != null && memory != null;"),
                of("a slice keeps the memory that its storage had before it was resized", storages, storage,
                        "if (last == null || last.whole != whole) {", "if (last == null) {"),
                of("a slice is not checked after its storage became smaller", storages, storage,
                        "            if (start > whole.byteSize() - nbytes) {\n", "            if (start < 0) {\n"),
                of("a freed storage is not resizable instead of freed", storages, storage,
                        "        checkSize(newSize);\n        checkAlive();\n        if (!isResizable()) {",
                        "        checkSize(newSize);\n        if (!isResizable()) {"),
                of("resize does not change the size", storages, storage,
                        "            allocator = target;\n            nbytes = newSize;\n",
                        "            allocator = target;\n"),
                // ---- storages ----
                of("a slice may end one byte past its storage", storages, storage,
                        "if (offset < 0 || size < 0 || offset > nbytes - size) {",
                        "if (offset < 0 || size < 0 || offset > nbytes - size + 1) {"),
                of("a slice of a slice starts at the wrong byte", storages, storage,
                        "new Storage(size, device, null, held, start + offset);",
                        "new Storage(size, device, null, held, offset);"),
                of("a smaller storage is copied over a larger one", storages, storage,
                        "        if (source.nbytes != nbytes) {", "        if (source.nbytes > nbytes) {"),
                of("fill leaves the last byte", storages, storage, "            writable().fill(value);",
                        "            writable().asSlice(0, Math.max(nbytes - 1, 0)).fill(value);"),
                of("slices that overlap are copied from front to back", storages, storage,
                        "            to.copyFrom(from);",
                        "            for (long i = 0; i < from.byteSize(); i++) {\n"
                                + "                to.set(ValueLayout.JAVA_BYTE, i, "
                                + "from.get(ValueLayout.JAVA_BYTE, i));\n            }"),
                // ---- counts of references ----
                of("a storage that was freed can be retained", storages, backing,
                        "while (count > 0 && !references.compareAndSet(count, count + 1)) {",
                        "while (count >= 0 && !references.compareAndSet(count, count + 1)) {"),
                of("a slice that is freed keeps its storage", storages, backing,
                        "            base.release();", "            base.referenceCount();"),
                of("a release takes two references", storages, backing,
                        "while (count > 0 && !references.compareAndSet(count, count - 1)) {",
                        "while (count > 0 && !references.compareAndSet(count, Math.max(count - 2, 0))) {"),
                // ---- files ----
                of("a storage of a file starts at the wrong byte", files, MMAP + "FileStorage.java",
                        "file.onlyAllocation(bytes.offset(), bytes.nbytes())",
                        "file.onlyAllocation(bytes.offset() / 2, bytes.nbytes())"),
                of("a private storage of a file is shared", files, MMAP + "FileStorage.java",
                        "MappedFile.open(path, mode, new MapBudget(), libc)",
                        "MappedFile.open(path, mode == MapMode.PRIVATE ? MapMode.SHARED : mode, new MapBudget(), "
                                + "libc)"),
                // ---- shapes and strides ----
                of("narrow may end one past the dimension", refusals, view,
                        "if (first < 0 || length < 0 || first > size - length) {",
                        "if (first < 0 || length < 0 || first > size - length + 1) {"),
                of("a slice with a step loses its last element", views, view,
                        "geometry[d] = Math.ceilDiv(length, step);", "geometry[d] = length / step;"),
                of("transpose swaps sizes and no strides", views, view,
                        "            geometry[rank + a] = base.geometry[rank + b];\n", ""),
                of("unfold has one window less", views, view,
                        "geometry[d] = (length - size) / step + 1;",
                        "geometry[d] = Math.max((length - size) / step, 1);"),
                of("a diagonal is as long as there are rows", views, view,
                        "long length = Math.min(rows, columns);", "long length = rows;"),
                of("the imaginary parts of conjugated numbers are not negated",
                        TENSORS + "TensorLawsTest#arraysHaveTheElementsInOrder", view,
                        "return base.is(Flag.CONJ) ? stored.withType(stored.type.toggled(Flag.NEG)) : stored;",
                        "return stored;"),
                of("elements with gaps are seen as a run", views, strides,
                        "old[oldRank + d] == blockSize * blockStride)", "old[oldRank + d] >= blockSize * blockStride)"),
                of("a wider view may start between its elements", views, view,
                        "        if (value % ratio != 0) {", "        if (value % ratio == ratio + 1) {"),
                of("a tensor is copied over itself without a copy aside",
                        TENSORS + "TensorLawsTest#aTargetHasWhatItsSourceHadBefore", strided,
                        "if (source.extent(sizes).asOverlappingSlice(target.extent(sizes)).isEmpty()) {",
                        "if (sizes.length >= 0) {"),
                of("what elements in one place become is not refused",
                        TENSORS + "TensorLawsTest#whatIsWrittenThroughAViewIsWrittenThereAndNowhereElse", strided,
                        "if (target.stride[d] == 0 && sizes[d] > 1) {", "if (target.stride[d] < 0) {"),
                // ---- values ----
                of("complex numbers that are not numbers lose their payload", states, tree,
                        "fixed(Double.doubleToRawLongBits(imaginary), Long.BYTES);",
                        "fixed(Double.doubleToLongBits(imaginary), Long.BYTES);"),
                of("a float that is not a number loses its payload",
                        "io.undercroft.properties.formats.FloatBitsLawsTest", tree,
                        "fixed(Float.floatToRawIntBits(value), Integer.BYTES);",
                        "fixed(Float.floatToIntBits(value), Integer.BYTES);"),
                // ---- files of snapshots ----
                of("a chunk is unchanged if it was as long before", histories, writer,
                        "                return known.isSame(bytes, before.place(), before.coding())",
                        "                return chunk.length() == before.place().length()"),
                of("bytes are compared by their ends alone", histories, index,
                        "            return Faults.haveSameBytes(bytes, there);",
                        "            long last = Math.max(bytes.byteSize() - 1, 0);\n"
                                + "            return Faults.haveSameBytes(bytes.asSlice(last), there.asSlice(last));"),
                of("a chunk is all zeros if it starts with one", histories, writer,
                        "                    && Faults.haveSameBytes(bytes.asSlice(0, rest), bytes.asSlice(1));",
                        "                    && Faults.haveSameBytes(bytes.asSlice(0, rest / 2), "
                                + "bytes.asSlice(1, rest / 2));"),
                of("a tensor inside of another one hides the end of that", histories,
                        SERIALIZER + "planning/Reach.java",
                        "merged.add(new Span(last.start(), Math.max(last.end(), span.end())));",
                        "merged.add(new Span(last.start(), span.end()));"),
                // ---- calls that fail ----
                of("a file that cannot be checked after it was mapped stays open",
                        FAULTS + "#anOpenThatFailsKeepsNothing", SERIALIZER + "loading/StoredBytes.java",
                        "return MappedAccess.allocated(file(), () -> {", "return MappedAccess.guarded(file(), () -> {"),
                of("a temporary file that cannot be locked stays", FAULTS + "#aSaveThatFailsAtAnyCallLeavesNothing",
                        SERIALIZER + "disk/SystemDisk.java",
                        "        } catch (Throwable e) {\n            delete(path);\n",
                        "        } catch (Throwable e) {\n"),
                of("a short write is taken for a whole one", FAULTS + "#aSaveThatFailsAtAnyCallLeavesNothing",
                        SERIALIZER + "disk/SystemDisk.java",
                        """
                                                    while (piece.hasRemaining()) {
                                                        done += channel.write(piece, offset + done);
                                                    }
                                """, """
                                                    channel.write(piece, offset + done);
                                                    done += piece.limit();
                                """),
                of("an interrupted writer leaves the file of its lock",
                        FAULTS + "#aFileThatIsReplacedStaysWhenACallFails",
                        SERIALIZER + "disk/WriterLock.java", "            removeAbandoned(file, path);\n", ""),
                // ---- sets of shards ----
                of("a shard that was saved anew is taken for the one of the set", sets, FORMAT + "Shard.java",
                        "if (first.isEmpty() || !of(path, first.get()).equals(this) || file.size() < length) {",
                        "if (first.isEmpty() || file.size() < length) {"),
                of("shards of several runs make a set", sets, SERIALIZER + "sets/SetBuilder.java",
                        "            if (!run.equals(first)) {",
                        "            if (run.isPresent() != first.isPresent()) {"),
                // ---- order of a commit ----
                of("the bytes of an append are not forced before its commit",
                        "crashes", SERIALIZER + "writing/Appender.java",
                        "            file.force();\n            if (!history", "            if (!history"),
                of("a new file gets its name before its bytes are forced", "crashes",
                        SERIALIZER + "disk/AtomicFile.java", "                file.force();\n",
                        "                file.size();\n"),
                of("an append writes its commit before its index", "crashes", SERIALIZER + "writing/Appender.java",
                        "            commit = writeIndex(written, options);\n            file.force();\n",
                        "            commit = writeIndex(written, options);\n            commit(commit);\n"),
                // ---- threads ----
                of("of two threads that release a storage, one does not count",
                        THREADS + "ReferenceCountSchedules#twoHoldersReleaseAtOnce", backing,
                        "while (count > 0 && !references.compareAndSet(count, count - 1)) {",
                        "references.set(count - 1);\n        while (references.get() < 0) {"),
                new Mutant("two threads that touch a storage at once make its bytes twice",
                        THREADS + "FirstTouchSchedules#twoThreadsTouchAStorageAtOnce",
                        List.of(new Edit(storage,
                                "        synchronized (backing) {\n            MemorySegment segment = allocation()",
                                "        synchronized (new Object()) {\n"
                                        + "            MemorySegment segment = allocation()"),
                                new Edit(storage, "        synchronized (backing) {\n            checkAlive();\n",
                                        "        synchronized (new Object()) {\n            checkAlive();\n"))),
                of("a touch that fails leaves no source to the next",
                        THREADS + "FirstTouchSchedules#aTouchThatFailsLeavesTheBytesToTheNext", backing,
                        "        Allocation made = source.get().checkSize(owner.nbytes());",
                        "        Supplier<Allocation> from = source;\n        source = null;\n"
                                + "        Allocation made = from.get().checkSize(owner.nbytes());"),
                of("a lazy value is made by each thread that needs it",
                        THREADS + "FirstTouchSchedules#aLazyValueIsMadeOnce",
                        SERIALIZER + "Lazy.java", "synchronized (this) {", "synchronized (new Object()) {"),
                of("a file is retained after it was closed", THREADS + "CloseSchedules#aFileIsClosedWhileItIsRead",
                        MMAP + "internal/Lifetime.java",
                        "while (count > 0 && !holders.compareAndSet(count, count + 1)) {",
                        "if (count > 0) {\n            holders.set(count + 1);\n        }\n"
                                + "        while (holders.get() < 0) {"),
                of("of two holders that release a file, one does not count",
                        THREADS + "CloseSchedules#aStorageOfAFileIsReadWhileTheFileIsClosed",
                        MMAP + "internal/Lifetime.java",
                        "while (count > 0 && !holders.compareAndSet(count, count - 1)) {",
                        "holders.set(count - 1);\n        while (holders.get() < 0) {"),
                of("two threads that take a lease on a new version open it twice",
                        THREADS + "FollowerSchedules#twoThreadsTakeLeasesOnANewVersion", follower,
                        "public synchronized Lease lease()", "public Lease lease()"),
                of("a follower is closed while it opens a version",
                        THREADS + "FollowerSchedules#aFollowerIsClosedWhileALeaseIsTaken", follower,
                        "public synchronized void close()", "public void close()"),
                of("two threads that use a member of a set open it twice",
                        THREADS + "OpenMembersSchedules#twoThreadsUseAMemberAtOnce", members,
                        "synchronized void enter()", "void enter()"),
                of("a set closes members that are used",
                        THREADS + "OpenMembersSchedules#aSetIsClosedWhileItsMembersAreUsed", members,
                        "            isClosed = true;\n            if (users == 0) {",
                        "            isClosed = true;\n            if (users >= 0) {"),
                of("a member is closed for another one although it is used again",
                        THREADS + "OpenMembersSchedules#anUnusedMemberIsClosedForAnotherWhileItIsUsedAgain", members,
                        "            if (users == 0 && !isKept) {\n                release();",
                        "            if (!isKept) {\n                release();"),
                of("the first commit of a file takes no lock",
                        THREADS + "CommitNumberSchedules#twoWritersMakeTheFirstCommit", save,
                        "resources.add(file.lock(true));", "resources.add(file.lock(false));"),
                of("a commit to a file takes no lock",
                        THREADS + "CommitNumberSchedules#twoWritersCommitToAFile", save,
                        "resources.add(file.lock(true));", "resources.add(() -> {});"));
    }
}
