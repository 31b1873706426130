package io.undercroft.properties.damage;

import io.undercroft.properties.Choices;
import java.util.Arrays;
import java.util.HexFormat;

/// Damages bytes: flipped bits, overwritten, moved, repeated, lost and added ranges, several at a time.
public final class Vandal {
    private static final int MOST_SHOWN = 40;

    private final Choices choices;
    private byte[] bytes;

    private Vandal(byte[] sound, Choices choices) {
        this.bytes = sound.clone();
        this.choices = choices;
    }

    /// {@return damaged bytes; those that went in stay as they are}
    public static byte[] damage(byte[] sound, byte... choices) {
        var vandal = new Vandal(sound, new Choices(choices));
        do {
            vandal.strike();
        } while (vandal.choices.below(4) == 3);
        return vandal.bytes;
    }

    /// {@return where damaged bytes differ from what they were, and how}
    public static String difference(byte[] sound, byte[] damaged) {
        int start = Arrays.mismatch(sound, damaged);
        if (start < 0) {
            return "no byte is changed";
        }
        int most = Math.min(sound.length, damaged.length) - start;
        int same = 0;
        while (same < most && sound[sound.length - 1 - same] == damaged[damaged.length - 1 - same]) {
            same++;
        }
        return "bytes from %d of %d are [%s] instead of [%s]".formatted(start, sound.length,
                hex(damaged, start, damaged.length - same), hex(sound, start, sound.length - same));
    }

    private static String hex(byte[] bytes, int from, int to) {
        String shown = HexFormat.ofDelimiter(" ").formatHex(bytes, from, Math.min(to, from + MOST_SHOWN));
        return to - from <= MOST_SHOWN ? shown : shown + " ... of " + (to - from);
    }

    private void strike() {
        if (bytes.length == 0) {
            return;
        }
        int from = choices.below(bytes.length);
        int length = 1 + choices.below(Math.min(bytes.length - from, 1 << choices.below(14)));
        switch (choices.below(9)) {
            case 0 -> bytes[from] ^= (byte) (1 << choices.below(8));
            case 1 -> bytes[from] = (byte) choices.below(256);
            case 2 -> Arrays.fill(bytes, from, from + length, (byte) 0);
            case 3 -> Arrays.fill(bytes, from, from + length, (byte) 0xff);
            case 4 -> scribble(from, length);
            case 5 -> System.arraycopy(bytes, choices.below(bytes.length - length + 1), bytes, from, length);
            case 6 -> bytes = Arrays.copyOf(bytes, from);
            case 7 -> bytes = spliced(from, length, 0);
            default -> bytes = spliced(from, 0, length);
        }
    }

    private void scribble(int from, int length) {
        for (int i = from; i < from + length; i++) {
            bytes[i] ^= (byte) choices.below(256);
        }
    }

    /// Cuts out a range and puts zeros in its place, more or fewer.
    private byte[] spliced(int from, int cut, int put) {
        byte[] result = new byte[bytes.length - cut + put];
        System.arraycopy(bytes, 0, result, 0, from);
        System.arraycopy(bytes, from + cut, result, from + put, bytes.length - from - cut);
        return result;
    }
}
