package io.undercroft.interop.safetensors;

import io.undercroft.format.FormatException;
import io.undercroft.interop.safetensors.SharingMetadata.View;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.storage.Tensor;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// Decides which tensors go into one file, as transformers and huggingface_hub do: in their order, a new file where one
/// would become too large. A tensor that is too large by itself has a separate file, and the file before it is filled
/// further.
final class ShardSplit {
    static final String SETTING = "safetensors.shard";
    /// The default of transformers 5.
    private static final String DEFAULT = "50GB";
    private static final Pattern SIZE = Pattern.compile("([0-9]{1,18}(?:\\.[0-9]{1,9})?) ?(?:([KMGT])(I?))?B?");

    private final long most;
    private final List<List<String>> files = new ArrayList<>();
    private List<String> open = new ArrayList<>();
    private long filled;

    private ShardSplit(long most) {
        this.most = most;
    }

    /// {@return the size that the options set} As in Python, `GB` are powers of 1000; `GiB` are powers of 1024.
    ///
    /// @throws IllegalArgumentException if they set none
    static long limit(SaveOptions options) {
        String text = options.setting(SETTING).orElse(DEFAULT);
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

    /// Parts tensors.
    ///
    /// @param names their names in order
    /// @param plan which use the bytes of others; these stay together
    /// @param most how many bytes of tensors a file may have
    /// @return the names of the tensors in each file
    static List<List<String>> of(Collection<String> names, SharingPlan plan, long most) {
        Map<String, List<String>> groups = new LinkedHashMap<>();
        names.forEach(name -> groups.computeIfAbsent(baseOf(name, plan), _ -> new ArrayList<>()).add(name));
        ShardSplit split = new ShardSplit(most);
        groups.values().forEach(group -> split.place(group, nbytes(group, plan)));
        split.next();
        return split.files;
    }

    private static String baseOf(String name, SharingPlan plan) {
        String written = plan.aliases().getOrDefault(name, name);
        View view = plan.views().get(written);
        return view == null ? written : view.base();
    }

    private static long nbytes(List<String> group, SharingPlan plan) {
        return group.stream().filter(plan.written()::containsKey).map(plan.written()::get).mapToLong(Tensor::nbytes)
                .reduce(0, Math::addExact);
    }

    private void place(List<String> group, long nbytes) {
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
