package io.undercroft.interop.internal;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.SaveOptions;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.function.ToLongFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// Decides which tensors go into one file, as transformers and huggingface_hub do: in their order, a new file where one
/// would become too large. A tensor that is too large by itself has a separate file, and the file before it is filled
/// further.
///
/// @param <T> what goes into files
public final class ShardSplit<T> {
    /// The values of the setting, for [io.undercroft.serializer.spi.Setting].
    public static final String SIZES = "50GB, or another size, for instance 512MiB";
    /// The default of transformers 5.
    private static final String DEFAULT = "50GB";
    private static final Pattern SIZE = Pattern.compile("([0-9]{1,18}(?:\\.[0-9]{1,9})?) ?(?:([KMGT])(I?))?B?");

    private final long most;
    private final List<List<T>> files = new ArrayList<>();
    private List<T> open = new ArrayList<>();
    private long filled;

    private ShardSplit(long most) {
        this.most = most;
    }

    /// {@return the size that the options set} As in Python, `GB` are powers of 1000; `GiB` are powers of 1024.
    ///
    /// @param options the options of the save
    /// @param setting the name of the setting
    /// @throws IllegalArgumentException if they set none
    public static long limit(SaveOptions options, String setting) {
        String text = options.setting(setting).orElse(DEFAULT);
        Matcher size = SIZE.matcher(text.strip().toUpperCase(Locale.ROOT));
        if (!size.matches()) {
            throw refused(setting, text);
        }
        int power = size.group(2) == null ? 0 : 1 + "KMGT".indexOf(size.group(2));
        BigDecimal unit = BigDecimal.valueOf("I".equals(size.group(3)) ? 1024 : 1000).pow(power);
        BigDecimal nbytes = new BigDecimal(size.group(1)).multiply(unit);
        if (nbytes.compareTo(BigDecimal.ONE) < 0) {
            throw refused(setting, text);
        }
        return nbytes.min(BigDecimal.valueOf(Long.MAX_VALUE)).longValue();
    }

    private static IllegalArgumentException refused(String setting, String text) {
        return new IllegalArgumentException("the setting " + setting + " is a size, for instance 5GB or 512MiB, not "
                + FormatException.quote(text));
    }

    /// Parts groups, which stay together.
    ///
    /// @param <T> what goes into files
    /// @param groups the groups in order
    /// @param size the bytes that a group takes
    /// @param most how many bytes a file may have
    /// @return what is in each file
    public static <T> List<List<T>> of(Collection<List<T>> groups, ToLongFunction<List<T>> size, long most) {
        ShardSplit<T> split = new ShardSplit<>(most);
        groups.forEach(group -> split.place(group, size.applyAsLong(group)));
        split.next();
        return split.files;
    }

    private void place(List<T> group, long nbytes) {
        if (nbytes > most) {
            files.add(group);
            return;
        }
        if (nbytes > most - filled) {
            next();
        }
        open.addAll(group);
        filled += nbytes;
    }

    private void next() {
        if (!open.isEmpty()) {
            files.add(open);
        }
        open = new ArrayList<>();
        filled = 0;
    }
}
