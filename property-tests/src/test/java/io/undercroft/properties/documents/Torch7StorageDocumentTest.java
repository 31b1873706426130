package io.undercroft.properties.documents;

import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.mmap.FileStorage;
import io.undercroft.mmap.MapMode;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.TypedStorage;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/// What Torch7's page on storages states, one test for each statement, its examples among them. Offsets count from 0
/// here.
class Torch7StorageDocumentTest {
    private static final DType BYTE = TypedStorage.dtypeOf("torch.ByteStorage");
    private static final DType CHAR = TypedStorage.dtypeOf("torch.CharStorage");
    private static final DType INT = TypedStorage.dtypeOf("torch.IntStorage");
    private static final DType DOUBLE = TypedStorage.dtypeOf("torch.DoubleStorage");

    @TempDir
    Path directory;

    @Nested
    class WhatStoragesAre {
        @Test
        void aStorageIsAccessToMemory() {
            TypedStorage storage = TypedStorage.of(DOUBLE, 1.5, 2.5);
            MemorySegment memory = storage.untyped().segment();
            assertThat(memory.getAtIndex(JAVA_DOUBLE, 1)).isEqualTo(2.5);
            memory.setAtIndex(JAVA_DOUBLE, 1, 3.5);
            assertThat(storage.getDouble(1)).isEqualTo(3.5);
        }

        @ParameterizedTest
        @CsvSource({"Byte, 1", "Char, 1", "Short, 2", "Int, 4", "Long, 8", "Float, 4", "Double, 8"})
        void thereIsAStorageForEachBasicTypeOfC(String name, int bytes) {
            TypedStorage storage = TypedStorage.allocate(TypedStorage.dtypeOf("torch." + name + "Storage"), 3);
            assertThat(storage.elementSize()).isEqualTo(bytes);
            assertThat(storage.nbytes()).isEqualTo(3L * bytes);
        }

        @Test
        void bytesAreUnsignedAndCharsAreSigned() {
            Storage bytes = Storage.copyOf((byte) 200);
            assertThat(new TypedStorage(bytes, BYTE).getLong(0)).isEqualTo(200);
            assertThat(new TypedStorage(bytes, CHAR).getLong(0)).isEqualTo(-56);
        }

        @Test
        void aStorageCanBeSaved() throws Exception {
            TypedStorage saved = TypedStorage.of(INT, 1, 2, 3);
            assertThat(loaded(saved).toList()).containsExactly(1L, 2L, 3L);
        }

        @Test
        void aStorageOnAFileIsSavedAsAnyOther() throws Exception {
            Path file = Files.writeString(directory.resolve("abc"), "abc");
            TypedStorage mapped = new TypedStorage(FileStorage.open(file, MapMode.SHARED), CHAR);
            TypedStorage loaded = loaded(mapped);
            loaded.fill(0);
            assertThat(mapped.string()).isEqualTo("abc");
            assertThat(loaded.untyped().isShared()).isFalse();
            mapped.release();
        }

        /// The one value of a state, saved and opened again, with a reference that outlives the file's.
        private TypedStorage loaded(TypedStorage saved) throws IOException {
            Path file = directory.resolve("saved.croft");
            Checkpoint.save(file, Map.of("storage", saved));
            try (Checkpoint checkpoint = Checkpoint.open(file)) {
                TypedStorage loaded = (TypedStorage) ((Map<?, ?>) checkpoint.state()).get("storage");
                return loaded.retain();
            }
        }
    }

    @Nested
    class Constructors {
        @Test
        void aStorageHasTheGivenSizeOrNone() {
            assertThat(TypedStorage.allocate(DOUBLE, 10).size()).isEqualTo(10);
            assertThat(TypedStorage.allocate(DOUBLE, 0).size()).isZero();
        }

        @Test
        void aViewHasTheTypeOfItsStorage() {
            assertThat(TypedStorage.allocate(DOUBLE, 10).slice(3, 2).dtype()).isEqualTo(DOUBLE);
        }
    }

    @Nested
    class StoragesOnFiles {
        private Path hello;

        @BeforeEach
        void nameTheFile() {
            hello = directory.resolve("hello.txt");
        }

        @Test
        void theExampleOfAPrivateMappingLeavesTheFileAlone() throws Exception {
            Files.writeString(hello, "Hello World\n");
            TypedStorage x = new TypedStorage(FileStorage.open(hello, MapMode.PRIVATE), CHAR);
            assertThat(x.toTorch7String())
                    .isEqualTo(printed("Char", 72, 101, 108, 108, 111, 32, 87, 111, 114, 108, 100, 10));
            assertThat(x.string()).isEqualTo("Hello World\n");
            assertThat(x.fill(42).string()).isEqualTo("************");
            assertThat(hello).hasContent("Hello World\n");
            x.release();
        }

        @Test
        void theExampleOfASharedMappingWritesTheFile() throws Exception {
            Files.writeString(hello, "Hello World\n");
            TypedStorage x = new TypedStorage(FileStorage.open(hello, MapMode.SHARED), CHAR);
            assertThat(x.string()).isEqualTo("Hello World\n");
            x.fill(42);
            assertThat(hello).hasContent("************");
            x.release();
            assertThat(hello).hasContent("************");
        }

        @Test
        void aPrivateFileNeedsToBeReadableOnly() throws Exception {
            // A program that runs cannot be opened for writing, not even by those who may write every file.
            Path running = Path.of(ProcessHandle.current().info().command().orElseThrow());
            byte[] before = Files.readAllBytes(running);
            TypedStorage x = new TypedStorage(FileStorage.open(running, MapMode.PRIVATE), CHAR);
            assertThat(x.fill('x').get(0)).isEqualTo((long) 'x');
            x.release();
            assertThat(Files.readAllBytes(running)).isEqualTo(before);
        }
    }

    @Nested
    class Methods {
        @Test
        void theNumberOfElementsIsTheSize() {
            TypedStorage x = TypedStorage.allocate(DOUBLE, 10);
            assertThat(x.size()).isEqualTo(10);
            assertThat(x.toList()).hasSize(10);
        }

        @Test
        void anElementIsReadAndWrittenByItsIndex() {
            TypedStorage x = TypedStorage.allocate(DOUBLE, 10);
            x.setDouble(4, 2.5);
            assertThat(x.getDouble(4)).isEqualTo(2.5);
            assertThat(x.get(4)).isEqualTo(2.5);
        }

        @Test
        void fillWritesEveryElementAndReturnsTheStorage() {
            TypedStorage x = TypedStorage.allocate(INT, 10);
            assertThat(x.fill(3)).isSameAs(x);
            assertThat(x.toList()).containsOnly(3L);
        }

        @Test
        void aTextResizesTheStorageAndIsCopiedWithoutATerminator() {
            TypedStorage x = TypedStorage.allocate(CHAR, 0).string("blah blah");
            assertThat(x.toTorch7String()).isEqualTo(printed("Char", 98, 108, 97, 104, 32, 98, 108, 97, 104));
            assertThat(x.string()).isEqualTo("blah blah");
        }

        @Test
        void storagesHaveNeitherArithmeticNorOrder() {
            assertThat(TypedStorage.class.getMethods()).extracting(Method::getName)
                    .doesNotContain("add", "sub", "mul", "div", "mod", "pow", "neg", "concat", "compareTo");
        }
    }

    @Nested
    class References {
        @Test
        void retainAndFreeAreAtomic() throws InterruptedException {
            TypedStorage x = TypedStorage.allocate(INT, 1);
            List<Thread> threads = IntStream.range(0, 8).mapToObj(_ -> Thread.ofPlatform().start(() -> {
                for (int i = 0; i < 20_000; i++) {
                    x.retain();
                    x.release();
                }
                x.retain();
            })).toList();
            for (Thread thread : threads) {
                thread.join();
            }
            assertThat(x.referenceCount()).isEqualTo(1 + threads.size());
        }
    }

    /// Whole numbers as Torch7 prints them: one on a line, all as wide as the widest, and what holds them.
    private static String printed(String type, long... elements) {
        int width = LongStream.of(elements).mapToInt(element -> Long.toString(element).length()).max().orElse(0);
        return LongStream.of(elements).mapToObj(element -> String.format(Locale.ROOT, " %" + width + "d\n", element))
                .collect(Collectors.joining("", "", "[torch." + type + "Storage of size " + elements.length + "]"));
    }
}
