package io.undercroft.format.internal;

import java.lang.foreign.ValueLayout;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;

/// The tokens of a state tree, a line for each, as our reader and as Kaitai's has them.
final class TreeLines {
    private final List<String> lines = new ArrayList<>();

    private TreeLines() {}

    /// {@return what our reader finds}
    static List<String> of(StateTreeReader reader) {
        TreeLines tree = new TreeLines();
        for (StateToken token = reader.next(); token != StateToken.DONE; token = reader.next()) {
            tree.add(token.name(), switch (token) {
                case NULL, END, DONE -> "";
                case BOOLEAN -> reader.booleanValue();
                case INTEGER, INT8, INT16, INT32, BIG_INTEGER -> reader.bigIntegerValue();
                case FLOAT -> bits(reader.doubleValue());
                case FLOAT32 -> bits(reader.floatValue());
                case COMPLEX -> bits(reader.doubleValue()) + " " + bits(reader.imaginaryValue());
                case STRING, DEVICE, SYMBOL, OBJECT -> reader.text();
                case BYTES -> hex(reader.bytes().toArray(ValueLayout.JAVA_BYTE));
                case LIST, TUPLE, MAP, SET -> reader.count();
                case TENSOR, DTYPE, REFERENCE -> reader.index();
                case STORAGE -> reader.index() + " " + reader.storageDType();
                case SHAPE -> Arrays.toString(reader.shape());
            });
        }
        return tree.lines;
    }

    /// {@return what Kaitai's reader finds}
    static List<String> of(Parsed value) {
        TreeLines tree = new TreeLines();
        tree.addValue(value);
        return tree.lines;
    }

    private void addValue(Parsed value) {
        String tag = value.text("tag");
        Parsed content = value.get("content");
        switch (tag) {
            case "NULL" -> add(tag, "");
            case "FALSE" -> add("BOOLEAN", false);
            case "TRUE" -> add("BOOLEAN", true);
            case "INTEGER", "TENSOR", "DTYPE", "REFERENCE" -> add(tag, content.number("value"));
            case "NEGATIVE" -> add("INTEGER", -1 - content.number("value"));
            case "INT8", "INT16", "INT32" -> add(tag, content.number("number"));
            case "BIG_INTEGER" -> add(tag, bigInteger(content.bytes("bytes")));
            case "FLOAT", "FLOAT32" -> add(tag, bits(content, "number"));
            case "COMPLEX" -> add(tag, bits(content, "real") + " " + bits(content, "imaginary"));
            case "STRING", "DEVICE", "SYMBOL" -> add(tag, content.text("text"));
            case "BYTES" -> add(tag, hex(content.bytes("bytes")));
            case "STORAGE" -> add(tag,
                    content.number("storage.value") + " " + (content.number("dtype_plus_one.value") - 1));
            case "SHAPE" -> add(tag,
                    Arrays.toString(content.all("sizes").mapToLong(size -> size.number("value")).toArray()));
            default -> addContainer(tag, content);
        }
    }

    private void addContainer(String tag, Parsed content) {
        add(tag, tag.equals("OBJECT") ? content.text("type_name.text") : content.number("count.value"));
        switch (tag) {
            case "MAP" -> content.all("pairs").forEach(pair -> {
                addValue(pair.get("key"));
                addValue(pair.get("value"));
            });
            case "OBJECT" -> {
                addValue(content.get("value"));
                addValue(content.get("attributes"));
            }
            default -> content.all("values").forEach(this::addValue);
        }
        add("END", "");
    }

    private void add(String token, Object what) {
        lines.add(token + " " + what);
    }

    private static BigInteger bigInteger(byte[] littleEndian) {
        byte[] bigEndian = new byte[littleEndian.length];
        for (int i = 0; i < bigEndian.length; i++) {
            bigEndian[i] = littleEndian[bigEndian.length - 1 - i];
        }
        return new BigInteger(bigEndian);
    }

    private static String bits(Parsed content, String name) {
        return bits(((Number) content.get(name).value()).doubleValue());
    }

    private static String bits(double number) {
        return Long.toHexString(Double.doubleToRawLongBits(number));
    }

    private static String hex(byte[] bytes) {
        return HexFormat.of().formatHex(bytes);
    }
}
