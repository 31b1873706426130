package io.undercroft.properties.formats;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.undercroft.properties.Choices;
import io.undercroft.properties.damage.TorchZip;
import io.undercroft.properties.damage.Vandal;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/// Damages a file of another format where it hurts: numbers in headers, opcodes of pickles, fields of archives, words
/// of JSON and of other text. Lengths and checksums are made to fit where a reader would stop at them otherwise.
final class ForeignVandal {
    private static final int HEAD = 2000;
    private static final int ZIP_SIGNATURE = 0x4b50;
    /// What numbers are replaced by: counts, sizes and offsets that are nothing, too many, negative, or overflow when
    /// they are multiplied.
    private static final List<Long> NUMBERS = List.of(0L, 1L, 2L, 3L, 4L, 7L, 8L, 31L, 127L, 128L, 255L, 256L, 65_535L,
            1L << 16, 1L << 20, (1L << 31) - 1, 1L << 31, (1L << 32) - 1, 1L << 32, 1L << 40, 1L << 61, 1L << 62,
            Long.MAX_VALUE, Long.MIN_VALUE, -1L, -2L, -8L);
    private static final List<String> WORDS = List.of("", "0", "-1", "1e9", "1.5", "9223372036854775807",
            "9223372036854775808", "18446744073709551616", "4294967296", "nan", "null", "true", "True", "False", "\"\"",
            "\"F32\"", "\"BOOL\"", "\"shape\"", "\"__metadata__\"", "'<f8'", "'|O'", "'>i4'", "'fortran_order'", "{",
            "}",
            "[", "]", "(", ")", "()", ",", ":", "\\", "\"\\u0000\"", "\"\\ud800\"", "torch.DoubleTensor", "V 1", "4",
            "3",
            "\n", " ");
    private static final Pattern WORD = Pattern
            .compile("\"[^\"]{0,60}\"|'[^']{0,60}'|-?[0-9][0-9.e+-]*|\\w+|[^\\w\\s]");
    /// The opcodes that `torch.save` and other Pythons write.
    private static final byte[] OPCODES = (".(0NTUXcQtRqrhjKMJ}]aesubBGI"
            + "\u0080\u0081\u0082\u0085\u0086\u0087\u0088\u0089\u008a)lpgd2101VFLSio"
            + "BC\u0082\u008c\u008f\u0090\u0091\u0092\u0093\u0094\u0096").getBytes(ISO_8859_1);

    private final Choices choices;
    private byte[] bytes;

    private ForeignVandal(byte[] sound, Choices choices) {
        this.bytes = sound.clone();
        this.choices = choices;
    }

    /// {@return damaged bytes; those that went in stay as they are}
    static byte[] damage(Specimen specimen, byte... strikes) throws IOException {
        Choices choices = new Choices(strikes);
        ForeignVandal vandal = new ForeignVandal(specimen.bytes(), choices);
        int count = 1 + choices.below(3);
        for (int i = 0; i < count && vandal.bytes.length > 0; i++) {
            vandal.strike(specimen.format());
        }
        return vandal.bytes;
    }

    private void strike(String format) throws IOException {
        if (choices.below(3) == 0) {
            bytes = Vandal.damage(bytes, choices.bytes(12));
            return;
        }
        switch (format) {
            case "torch-zip", "npz" -> strikeZip();
            case "torch-legacy", "torch-tar", "pickle" ->
                bytes = choices.yes() ? struckPickle(bytes) : number(bytes, bytes.length);
            case "safetensors" -> strikeSafetensors();
            case "npy" -> bytes = struckArray(bytes);
            case "safetensors-index" -> bytes = word(bytes, bytes.length);
            default -> bytes = choices.below(3) == 0 ? word(bytes, bytes.length) : number(bytes, HEAD);
        }
    }

    // ---- archives ----

    private void strikeZip() throws IOException {
        int kind = choices.below(3);
        if (kind == 0) {
            strikeField();
            return;
        }
        byte[] strikes = choices.bytes(24);
        byte[] rewritten = rewritten(strikes);
        bytes = rewritten.length == 0 ? number(bytes, bytes.length) : rewritten;
    }

    /// Changes what one record holds, and makes the archive anew around it; nothing if it is none any more.
    private byte[] rewritten(byte[] strikes) throws IOException {
        Path copy = Files.createTempFile("undercroft-", ".zip");
        try {
            Files.write(copy, bytes);
            Choices before = new Choices(strikes);
            return TorchZip.changeRecord(copy, before.below(256),
                    (name, record) -> new ForeignVandal(record, before).record(name));
        } catch (IOException | IllegalArgumentException _) {
            return new byte[0];
        } finally {
            Files.delete(copy);
        }
    }

    private byte[] record(String name) {
        if (bytes.length == 0) {
            return new byte[]{(byte) choices.below(256)};
        }
        return switch (name.substring(name.lastIndexOf('.') + 1)) {
            case "pkl" -> struckPickle(bytes);
            case "npy" -> struckArray(bytes);
            default -> Vandal.damage(bytes, choices.bytes(12));
        };
    }

    /// A number behind one of the signatures of a zip archive.
    private void strikeField() {
        List<Integer> places = new ArrayList<>();
        for (int i = 0; i + 4 <= bytes.length; i++) {
            if ((bytes[i] | bytes[i + 1] << 8) == ZIP_SIGNATURE && bytes[i + 2] < 9 && bytes[i + 3] < 9) {
                places.add(i);
            }
        }
        if (!places.isEmpty()) {
            int width = choices.of(List.of(2, 4, 8));
            put(choices.of(places) + 4 + 2 * choices.below(22), width, ByteOrder.LITTLE_ENDIAN);
        }
    }

    // ---- pickles ----

    private byte[] struckPickle(byte[] pickle) {
        byte[] struck = pickle.clone();
        int at = choices.below(struck.length);
        return switch (choices.below(5)) {
            case 0 -> replaced(struck, at, 1, opcode());
            case 1 -> replaced(struck, at, 0, opcode());
            case 2 -> replaced(struck, at, 1, new byte[0]);
            case 3 -> number(struck, struck.length);
            default -> {
                int from = choices.below(struck.length);
                int length = Math.min(choices.below(40), struck.length - from);
                yield replaced(struck, at, 0, Arrays.copyOfRange(struck, from, from + length));
            }
        };
    }

    private byte[] opcode() {
        return new byte[]{OPCODES[choices.below(OPCODES.length)]};
    }

    // ---- headers of text ----

    /// Changes a word of the header and its length before it.
    private void strikeSafetensors() {
        if (bytes.length < 8 || choices.below(6) == 0) {
            bytes = number(bytes, 8);
            return;
        }
        ByteBuffer file = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        int length = Math.clamp(file.getLong(0), 0, bytes.length - 8);
        byte[] header = word(Arrays.copyOfRange(bytes, 8, 8 + length), length);
        bytes = ByteBuffer.allocate(bytes.length - length + header.length).order(ByteOrder.LITTLE_ENDIAN)
                .putLong(header.length).put(header).put(bytes, 8 + length, bytes.length - 8 - length).array();
    }

    private byte[] struckArray(byte[] array) {
        if (array.length < 10 || choices.below(6) == 0) {
            return number(array, 12);
        }
        ByteBuffer file = ByteBuffer.wrap(array).order(ByteOrder.LITTLE_ENDIAN);
        int length = Math.min(Short.toUnsignedInt(file.getShort(8)), array.length - 10);
        byte[] header = word(Arrays.copyOfRange(array, 10, 10 + length), length);
        return ByteBuffer.allocate(array.length - length + header.length).order(ByteOrder.LITTLE_ENDIAN)
                .put(array, 0, 8)
                .putShort((short) header.length).put(header).put(array, 10 + length, array.length - 10 - length)
                .array();
    }

    /// Replaces a word, or puts another one before it, or takes it away.
    private byte[] word(byte[] text, int most) {
        List<MatchResult> words = WORD.matcher(new String(text, 0, Math.min(most, text.length), ISO_8859_1)).results()
                .toList();
        if (words.isEmpty()) {
            return text;
        }
        MatchResult at = choices.of(words);
        int cut = choices.below(8) == 0 ? 0 : at.end() - at.start();
        return replaced(text, at.start(), cut, other(at.group(), words).getBytes(ISO_8859_1));
    }

    /// Mostly one of the same kind, so that the text around it still makes sense.
    private String other(String word, List<MatchResult> words) {
        if (choices.below(4) == 0) {
            return choices.yes() ? choices.of(WORDS) : choices.of(words).group();
        }
        if (isNumber(word)) {
            return choices.of(WORDS.stream().filter(ForeignVandal::isNumber).toList());
        }
        return choices.of(words.stream().map(MatchResult::group)
                .filter(known -> known.charAt(0) == word.charAt(0) && !isNumber(known)).toList());
    }

    private static boolean isNumber(String word) {
        return word.matches("-?[0-9].*");
    }

    // ---- numbers ----

    /// Overwrites a number somewhere in the first bytes.
    private byte[] number(byte[] file, int within) {
        bytes = file.clone();
        int width = choices.of(List.of(1, 2, 4, 4, 8, 8));
        int at = choices.below(Math.min(within, bytes.length));
        put(choices.yes() ? at / width * width : at, width,
                choices.below(4) == 0 ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN);
        return bytes;
    }

    private void put(int at, int width, ByteOrder order) {
        long number = choices.below(4) == 0 ? bytes.length + choices.below(5) - 2 : choices.of(NUMBERS);
        byte[] encoded = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN).putLong(number).array();
        for (int i = 0; i < width && at + i < bytes.length; i++) {
            bytes[at + i] = encoded[order == ByteOrder.LITTLE_ENDIAN ? i : width - 1 - i];
        }
    }

    private static byte[] replaced(byte[] whole, int at, int cut, byte[] put) {
        return ByteBuffer.allocate(whole.length - cut + put.length).put(whole, 0, at).put(put)
                .put(whole, at + cut, whole.length - at - cut).array();
    }
}
