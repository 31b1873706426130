package io.undercroft.storage;

import java.util.Objects;

/// The device that has the bytes of a storage. The text form is that of PyTorch: `cpu`, `meta`, `cuda:0`.
///
/// @param type the type of device in lower case, for instance `cpu` or `cuda`
/// @param index the number of the device among those of its type, or -1 if the type has only one device or no
///     particular one is meant
public record Device(String type, int index) {
    /// The memory of this process.
    public static final Device CPU = new Device("cpu", -1);
    /// The device of storages that have a size and no bytes, as PyTorch's meta device.
    public static final Device META = new Device("meta", -1);

    private static final int MAX_TYPE_LENGTH = 32;

    /// Checks the type and the index.
    ///
    /// @throws IllegalArgumentException if the type is not a short lower-case word or the index is below -1
    public Device {
        Objects.requireNonNull(type, "type");
        if (!isWord(type)) {
            throw new IllegalArgumentException(
                    "a device type is a lower-case word such as cpu or cuda, not '" + type + "'");
        }
        if (index < -1) {
            throw new IllegalArgumentException("a device index is -1 (none) or more, not " + index);
        }
    }

    /// {@return CUDA device number `index`}
    ///
    /// @param index 0 or more
    /// @throws IllegalArgumentException if it is negative
    public static Device cuda(int index) {
        if (index < 0) {
            throw new IllegalArgumentException("there is no CUDA device " + index + "; they count from 0");
        }
        return new Device("cuda", index);
    }

    /// Parses PyTorch's notation. The type may be any word, since a file may name a device that this machine does not
    /// have. Use of such a device throws an exception that lists the available devices.
    ///
    /// @param text for instance `cpu`, `meta`, `cuda` or `cuda:1`
    /// @return the device
    /// @throws IllegalArgumentException if the text is not a device
    public static Device parse(String text) {
        int colon = text.indexOf(':');
        String type = colon < 0 ? text : text.substring(0, colon);
        if (!isWord(type)) {
            throw new IllegalArgumentException("'" + text + "' is not a device; write cpu, meta or cuda:0");
        }
        if (colon < 0) {
            return new Device(type, -1);
        }
        if (!isIndex(text, colon + 1)) {
            throw new IllegalArgumentException(
                    "'" + text + "' has no device index after the colon; write for instance cuda:0");
        }
        return new Device(type, Integer.parseInt(text, colon + 1, text.length(), 10));
    }

    /// Whether the rest of a text is one to nine decimal digits.
    private static boolean isIndex(String text, int from) {
        int length = text.length() - from;
        if (length < 1 || length > 9) {
            return false;
        }
        for (int i = from; i < text.length(); i++) {
            if (text.charAt(i) < '0' || text.charAt(i) > '9') {
                return false;
            }
        }
        return true;
    }

    /// {@return whether this is the memory of this process}
    public boolean isCpu() {
        return type.equals("cpu");
    }

    /// {@return whether this is a CUDA device}
    public boolean isCuda() {
        return type.equals("cuda");
    }

    /// {@return whether this is the meta device}
    public boolean isMeta() {
        return type.equals("meta");
    }

    /// {@return PyTorch's notation, for instance `cuda:1`}
    @Override
    public String toString() {
        return index < 0 ? type : type + ":" + index;
    }

    private static boolean isWord(String type) {
        // A file can name very many devices, and a regular expression takes kilobytes each time.
        for (int i = 0; i < type.length(); i++) {
            char c = type.charAt(i);
            boolean isLetter = c >= 'a' && c <= 'z';
            boolean isDigit = c >= '0' && c <= '9';
            if (!isLetter && !isDigit && c != '_') {
                return false;
            }
        }
        return !type.isEmpty() && type.length() <= MAX_TYPE_LENGTH;
    }
}
