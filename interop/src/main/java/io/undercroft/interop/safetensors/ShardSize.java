package io.undercroft.interop.safetensors;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.SaveOptions;
import java.math.BigDecimal;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// How many bytes of tensors a file of a set may have.
final class ShardSize {
    static final String SETTING = "safetensors.shard";
    /// That of transformers 5.
    private static final String DEFAULT = "50GB";
    private static final Pattern SIZE = Pattern.compile("([0-9]{1,18}(?:\\.[0-9]{1,9})?) ?(?:([KMGT])(I?))?B?");

    private ShardSize() {}

    /// {@return the size that the options ask for} As in Python, `GB` are powers of 1000; `GiB` are powers of 1024.
    ///
    /// @throws IllegalArgumentException if they ask for none
    static long of(SaveOptions options) {
        String text = options.request().setting(SETTING).orElse(DEFAULT);
        Matcher size = SIZE.matcher(text.strip().toUpperCase(Locale.ROOT));
        if (!size.matches()) {
            throw refused(text);
        }
        int power = size.group(2) == null ? 0 : 1 + "KMGT".indexOf(size.group(2));
        BigDecimal unit = BigDecimal.valueOf("I".equals(size.group(3)) ? 1024 : 1000).pow(power);
        BigDecimal nbytes = new BigDecimal(size.group(1)).multiply(unit);
        if (nbytes.compareTo(BigDecimal.ONE) < 0) {
            throw refused(text);
        }
        return nbytes.min(BigDecimal.valueOf(Long.MAX_VALUE)).longValue();
    }

    private static IllegalArgumentException refused(String text) {
        return new IllegalArgumentException("the setting " + SETTING + " is a size, for instance 5GB or 512MiB, not "
                + FormatException.quote(text));
    }
}
