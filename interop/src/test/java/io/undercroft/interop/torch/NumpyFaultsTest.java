package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.ForeignClass;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Proc;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Arrays of NumPy whose parts do not fit together, or are made to cost much: each is a placeholder, an object or a
/// refusal, and what is next to a placeholder is read.
class NumpyFaultsTest {
    @TempDir
    private Path folder;

    private static PickleBuilder pickle() {
        return new PickleBuilder();
    }

    /// An array that is not filled yet.
    private static PickleBuilder blank(PickleBuilder to, String subtype) {
        String[] name = subtype.split(" ", 2);
        return to.global("numpy.core.multiarray", "_reconstruct").global(name[0], name[1]).integer(0).bytes(0x85)
                .text("b").bytes(0x87).ops("R");
    }

    private static PickleBuilder type(PickleBuilder to, String code, String order) {
        return to.global("numpy", "dtype").text(code).integer(0).integer(1).bytes(0x87).ops("R(").integer(3)
                .text(order).ops("NNN").integer(-1).integer(-1).integer(0).ops("tb");
    }

    private static PickleBuilder data(PickleBuilder to, int... bytes) {
        return to.bytes('C', bytes.length).bytes(bytes);
    }

    private static PickleBuilder shape(PickleBuilder to, long... sizes) {
        to.ops("(");
        for (long size : sizes) {
            to.integer(size);
        }
        return to.ops("t");
    }

    /// An array of int16 in the order of the machine that wrote it.
    private static PickleBuilder array(PickleBuilder to, String order, long[] sizes, int... bytes) {
        blank(to, "numpy ndarray").ops("(").integer(1);
        type(shape(to, sizes), "i2", order).bytes(0x89);
        return data(to, bytes).ops("tb");
    }

    private Path file(PickleBuilder pickle) throws IOException {
        return Files.write(folder.resolve("some.pkl"), pickle.stop());
    }

    private FormatException refusal(PickleBuilder pickle) throws IOException {
        Path file = file(pickle);
        FormatException refusal = catchThrowableOfType(FormatException.class, () -> Checkpoint.open(file).close());
        assertThat(refusal).isNotNull();
        return refusal;
    }

    /// What is wrong with the first of two tensors, of which the second is read.
    private String fault(PickleBuilder first) throws IOException {
        try (Checkpoint c = Checkpoint.open(file(array(first, "<", new long[]{2}, 1, 0, 2, 0).bytes(0x86)))) {
            assertThat(c.tensor("1").toLongArray()).containsExactly(1, 2);
            FormatException fault = catchThrowableOfType(FormatException.class, () -> c.tensor("0"));
            assertThat(fault).isNotNull();
            assertThat(fault.file()).endsWith("some.pkl");
            assertThat(c.damages()).hasSize(1);
            return fault.what();
        }
    }

    @Test
    void bothByteOrdersAreRead() throws IOException {
        try (Checkpoint c = Checkpoint.open(file(array(pickle(), ">", new long[]{1, 2}, 1, 2, 0xff, 0)))) {
            assertThat(c.tensor("").shape()).isEqualTo(Shape.of(1, 2));
            assertThat(c.tensor("").toLongArray()).containsExactly(258, -256);
        }
    }

    @Test
    void sizesThatAreNotThoseOfTheDataMakeAPlaceholder() throws IOException {
        assertThat(fault(array(pickle(), "<", new long[]{3}, 1, 0))).isEqualTo(
                "an array of shape [3] and type <i2 takes 6 bytes, and there are 2");
        assertThat(fault(array(pickle(), "<", new long[]{-1}, 1, 0))).contains("-1");
        assertThat(fault(array(pickle(), "<", new long[]{1L << 62, 1L << 62}, 1, 0))).contains("an array cannot be");
        assertThat(fault(array(pickle(), "<", new long[]{1L << 62, 2}))).contains("an array cannot be");
        assertThat(refusal(array(pickle(), "<", new long[65], 1, 0)).what()).contains("65 dimensions");
    }

    @Test
    void noElementsCostNothingWhateverTheSizeOfOne() throws IOException {
        PickleBuilder to = blank(pickle(), "numpy ndarray").ops("(").integer(1);
        shape(to, 0).global("numpy", "dtype").text("U500000000").integer(0).integer(1).bytes(0x87).ops("R(").integer(3)
                .text("<").ops("NNN").integer(2_000_000_000).integer(4).integer(8).ops("tb").bytes(0x89);
        long before = Proc.allocatedByThisThread();
        try (Checkpoint c = Checkpoint.open(file(data(to).ops("tb")))) {
            assertThat(((Typed) c.state()).value()).isEqualTo(List.of());
        }
        assertThat(Proc.allocatedByThisThread() - before).isLessThan(64 << 20);
    }

    /// A type with fields: pairs of a type on the stack and its offset.
    private static PickleBuilder record(PickleBuilder to, int memo, long itemsize, Runnable... fields) {
        to.global("numpy", "dtype").text("V" + itemsize).integer(0).integer(1).bytes(0x87).ops("R(").integer(3)
                .text("|").ops("N(");
        for (int i = 0; i < fields.length; i++) {
            to.text("f" + i);
        }
        to.ops("t}(");
        for (int i = 0; i < fields.length; i++) {
            to.text("f" + i);
            fields[i].run();
            to.bytes(0x86);
        }
        return to.ops("u").integer(itemsize).integer(1).integer(16).ops("tb").put(memo);
    }

    private static PickleBuilder arrayOf(PickleBuilder to, Runnable type, int bytes) {
        blank(to, "numpy ndarray").ops("(").integer(1);
        shape(to, 1);
        type.run();
        return data(to.bytes(0x89), new int[bytes]).ops("tb");
    }

    @Test
    void recordsThatNumpyCouldNotDescribeArePlaceholders() throws IOException {
        PickleBuilder overlapping = pickle();
        arrayOf(overlapping, () -> record(overlapping, 7, 4, () -> type(overlapping, "i2", "<").integer(0),
                () -> type(overlapping, "i2", "<").integer(1)), 4);
        assertThat(fault(overlapping)).contains("overlap");
        PickleBuilder outside = pickle();
        arrayOf(outside, () -> record(outside, 7, 4, () -> type(outside, "i2", "<").integer(3)), 4);
        assertThat(fault(outside)).contains("fields behind that");
        PickleBuilder endless = pickle();
        arrayOf(endless, () -> record(endless, 7, Long.MAX_VALUE,
                () -> type(endless, "i2", "<").integer(Long.MAX_VALUE - 1)), 4);
        assertThat(fault(endless)).contains("fields behind 2^63-1 bytes");
    }

    @Test
    void recordsInRecordsDoNotMakeMoreThanTheirDescriptionMay() throws IOException {
        PickleBuilder deep = pickle();
        type(deep, "i1", "|").put(0).ops("0");
        for (int i = 1; i <= 30; i++) {
            int inner = i - 1;
            record(deep, i, 1, () -> deep.get(inner).integer(0)).ops("0");
        }
        assertThat(fault(arrayOf(deep, () -> deep.get(30), 1))).contains("too many fields");
        PickleBuilder wide = pickle();
        type(wide, "i1", "|").put(0).ops("0");
        for (int i = 1; i <= 15; i++) {
            int inner = i - 1;
            long half = 1L << inner;
            record(wide, i, 2 * half, () -> wide.get(inner).integer(0), () -> wide.get(inner).integer(half)).ops("0");
        }
        assertThat(fault(arrayOf(wide, () -> wide.get(15), 1))).contains("too many fields");
    }

    /// Each BUILD gives a type two fields of the type that it was before.
    @Test
    void recordsOfTheTypeThatTheyChangeDoNotMakeMoreThanTheirDescriptionMay() throws IOException {
        PickleBuilder twice = pickle().global("numpy", "dtype").text("S0").integer(0).integer(1).bytes(0x87).ops("R")
                .put(0).ops("(").integer(3).text("|").ops("N(").text("a").text("b").ops("t}(");
        for (String field : List.of("a", "b")) {
            twice.text(field).get(0).integer(0).bytes(0x86);
        }
        twice.ops("u").integer(0).integer(1).integer(16).ops("t").put(1).ops("b");
        for (int i = 0; i < 20; i++) {
            twice.get(1).ops("b");
        }
        assertThat(fault(arrayOf(twice.ops("0"), () -> twice.get(0), 0))).contains("too many fields");
    }

    @Test
    void aMemoSlotThatWasUsedAgainKeepsItsLaterValue() throws IOException {
        PickleBuilder again = blank(pickle(), "numpy ndarray").put(0).text("later").put(0).ops("0(").integer(1);
        type(shape(again, 2), "i2", "<").bytes(0x89);
        data(again, 1, 0, 2, 0).ops("tb").get(0).bytes(0x86);
        try (Checkpoint c = Checkpoint.open(file(again))) {
            assertThat(((List<?>) c.state()).get(1)).isEqualTo("later");
        }
    }

    @Test
    void arraysOfTypesOfOtherLibrariesAreObjects() throws IOException {
        PickleBuilder foreign = pickle();
        arrayOf(foreign, () -> foreign.global("numpy.dtypes", "StringDType").ops(")R"), 3);
        try (Checkpoint c = Checkpoint.open(file(foreign))) {
            TypedMap object = (TypedMap) c.state();
            assertThat(object.type()).isEqualTo("python:numpy.core.multiarray._reconstruct");
            assertThat(((List<?>) object.attributes().get("state")).get(4)).isEqualTo(new byte[3]);
        }
    }

    @Test
    void brainFloatsOfTheirOwnLibraryAreNumbers() throws IOException {
        PickleBuilder brain = pickle();
        arrayOf(brain, () -> brain.global("numpy", "dtype").global("ml_dtypes", "bfloat16").integer(0).integer(1)
                .bytes(0x87).ops("R(").integer(3).text("<").ops("NNN").integer(2).integer(2).integer(0).ops("tb"), 2);
        try (Checkpoint c = Checkpoint.open(file(brain))) {
            assertThat(c.tensor("").dtype().name()).isEqualTo("bfloat16");
        }
    }

    @Test
    void anArrayThatIsNotFilledOrFilledTwiceIsRefused() throws IOException {
        assertThat(refusal(blank(pickle(), "numpy ndarray")).what()).contains("an array without elements is left");
        assertThat(refusal(array(pickle(), "<", new long[]{1}, 1, 0).ops("}b")).what()).contains("no state can be set");
        PickleBuilder record = pickle();
        arrayOf(record, () -> record(record, 7, 2, () -> type(record, "i2", "<").integer(0)), 2);
        assertThat(refusal(record.ops("}b")).what()).contains("no state can be set");
    }

    @Test
    void theElementsOfAnArrayAreNoValueOfTheState() throws IOException {
        PickleBuilder pickle = blank(pickle(), "numpy ndarray").ops("(").integer(1);
        type(shape(pickle, 1), "i2", "<").bytes(0x89);
        assertThat(refusal(data(pickle, 1, 0).ops("t").put(3).ops("b").get(3).bytes(0x86)).what())
                .contains("bytes is left without a use");
    }

    @Test
    void objectsAndNumbersAreNotTakenForEachOther() throws IOException {
        PickleBuilder list = blank(pickle(), "numpy ndarray").ops("(").integer(1);
        type(shape(list, 1), "i2", "<").bytes(0x89).ops("]tb");
        assertThat(refusal(list).what()).contains("the elements of an array are bytes, not a list");
        PickleBuilder bytes = blank(pickle(), "numpy ndarray").ops("(").integer(1);
        type(shape(bytes, 1), "O8", "|").bytes(0x89);
        assertThat(refusal(data(bytes, 1, 2).ops("tb")).what()).contains("a list, not bytes");
        PickleBuilder few = blank(pickle(), "numpy ndarray").ops("(").integer(1);
        assertThat(fault(type(shape(few, 3), "O8", "|").bytes(0x89).ops("](NNetb"))).contains("2 objects");
    }

    @Test
    void anArrayOfObjectsMayHoldItself() throws IOException {
        PickleBuilder cycle = blank(pickle(), "numpy ndarray").put(1).ops("(").integer(1);
        type(shape(cycle, 2), "O8", "|").bytes(0x89).ops("](").get(1);
        try (Checkpoint c = Checkpoint.open(file(array(cycle, "<", new long[]{1}, 1, 0).ops("etb")))) {
            Typed node = (Typed) c.state();
            assertThat(((List<?>) node.value()).get(0)).isSameAs(node);
            assertThat(c.names()).containsExactly("1");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"numpy.core.multiarray _reconstruct", "numpy._core.multiarray scalar", "numpy dtype",
            "numpy ndarray", "numpy._core.numeric _frombuffer"})
    void strictPicklesHaveNoArrays(String global) throws IOException {
        String[] name = global.split(" ", 2);
        Path file = file(pickle().global(name[0], name[1]));
        OpenOptions strict = OpenOptions.defaults().setting("torch.strict", "on");
        assertThat(catchThrowableOfType(FormatException.class, () -> Checkpoint.open(file, strict).close()).code())
                .isEqualTo("TORCH-GLOBAL");
        Checkpoint.open(file).close();
    }

    @Test
    void aLargeArrayIsMappedAndNotRead() throws IOException {
        long count = (3L << 30) + 5;
        Path path = folder.resolve("large.pkl");
        PickleBuilder start = blank(pickle(), "numpy ndarray").ops("(").integer(1);
        byte[] head = type(shape(start, count), "i1", "|").bytes(0x89).bytes(0x8e).stop();
        try (RandomAccessFile out = new RandomAccessFile(path.toFile(), "rw")) {
            out.write(head, 0, head.length - 1);
            out.write(ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(count).array());
            long end = out.getFilePointer() + count;
            out.seek(end - 2);
            out.write(new byte[]{7, -1});
            out.write("tb.".getBytes(ISO_8859_1));
        }
        try (Checkpoint c = Checkpoint.open(path)) {
            Tensor tensor = c.tensor("");
            assertThat(tensor.shape()).isEqualTo(Shape.of(count));
            assertThat(c.unread()).isEmpty();
            assertThat(tensor.narrow(0, count - 3, 3).toLongArray()).containsExactly(0, 7, -1);
        }
    }

    @Test
    void scalarsAreNumbersAndThoseThatDoNotFitPlaceholders() throws IOException {
        PickleBuilder pickle = pickle().global("numpy.core.multiarray", "scalar");
        data(type(pickle, "i2", ">"), 1, 2).bytes(0x86).ops("R");
        pickle.global("numpy.core.multiarray", "scalar");
        data(type(pickle, "i2", ">"), 1).bytes(0x86).ops("R");
        try (Checkpoint c = Checkpoint.open(file(pickle.bytes(0x86)))) {
            assertThat(((List<?>) c.state()).get(0)).isEqualTo(258L);
            assertThat(catchThrowableOfType(FormatException.class, () -> c.tensor("1")).code()).isEqualTo("NPY-SIZE");
        }
    }

    /// A file of NumPy with objects.
    private Path npy(byte[] pickle) throws IOException {
        byte[] text = "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n".getBytes(ISO_8859_1);
        byte[] head = {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (byte) text.length, 0};
        return Files.write(folder.resolve("some.npy"), ByteBuffer.allocate(head.length + text.length + pickle.length)
                .put(head).put(text).put(pickle).array());
    }

    @Test
    void nothingIsRunForObjectsInAFileOfNumpy() throws IOException {
        PickleBuilder attack = blank(pickle(), "numpy ndarray").ops("(").integer(1);
        type(shape(attack, 1), "O8", "|").bytes(0x89).ops("](").global("os", "system").text("echo").bytes(0x85);
        try (Checkpoint c = Checkpoint.open(npy(attack.ops("Retb").stop()))) {
            assertThat(c.foreignClasses()).containsExactly(new ForeignClass("os.system", 1, true));
            assertThat(((List<?>) ((Typed) c.state()).value()).get(0)).isInstanceOf(TypedMap.class);
        }
        Path cut = npy(new byte[]{(byte) 0x80, 4});
        assertThat(catchThrowableOfType(FormatException.class, () -> Checkpoint.open(cut).close()).code())
                .isEqualTo("TORCH-PICKLE");
    }

    @Test
    void objectsAreNotWrittenToFilesOfNumpy() throws IOException {
        PickleBuilder objects = blank(pickle(), "numpy ndarray").ops("(").integer(1);
        type(shape(objects, 1), "O8", "|").bytes(0x89).ops("](Netb");
        try (Checkpoint c = Checkpoint.open(npy(objects.stop()))) {
            Path written = folder.resolve("written.npy");
            assertThat(catchThrowableOfType(IllegalArgumentException.class,
                    () -> Checkpoint.save(written, c.state()))).isNotNull();
        }
    }

    @Test
    void whatIsWrittenToPytorchNamesNoArrays() throws IOException {
        Path pickle = file(array(pickle(), "<", new long[]{2}, 1, 0, 2, 0));
        Path torch = folder.resolve("t.pt");
        try (Checkpoint c = Checkpoint.open(pickle)) {
            Checkpoint.save(torch, Map.of("t", c.state()));
        }
        try (Checkpoint c = Checkpoint.open(torch, OpenOptions.defaults().setting("torch.strict", "on"))) {
            assertThat(c.tensor("t").toLongArray()).containsExactly(1, 2);
        }
    }
}
