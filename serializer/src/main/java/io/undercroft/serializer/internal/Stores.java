package io.undercroft.serializer.internal;

import io.undercroft.mmap.MapBudget;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.RemoteFileException;
import io.undercroft.mmap.RemoteFileException.Kind;
import io.undercroft.mmap.spi.RangeSource;
import io.undercroft.serializer.internal.Providers.Loadable;
import io.undercroft.serializer.spi.OpenRequest;
import io.undercroft.serializer.spi.RangeSourceProvider;
import io.undercroft.serializer.spi.Setting;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/// The kinds of stores that `ServiceLoader` finds.
public final class Stores {
    private Stores() {}

    /// Opens an object of a store as a file.
    ///
    /// @param uri its URI, with a scheme that is not `file`
    /// @param request the options for opening
    /// @return the file, with one holder
    /// @throws RemoteFileException if nothing opens such a URI, or the object cannot be opened
    /// @throws IllegalArgumentException if the URI or a setting of the store is invalid
    /// @throws IOException if opening fails for another reason
    public static MappedFile open(URI uri, OpenRequest request) throws IOException {
        String scheme = uri.getScheme().toLowerCase(Locale.ROOT);
        List<RangeSourceProvider> all = all();
        for (RangeSourceProvider provider : all) {
            if (provider.schemes().contains(scheme)) {
                if (request.mapping() == MapMode.SHARED) {
                    throw new IllegalArgumentException("a file in a store is not mapped shared: writes would not reach "
                            + "it; open it copy-on-write");
                }
                return open(provider.open(uri, request), request, new MapBudget());
            }
        }
        throw new RemoteFileException(scheme + ":…", Kind.UNSUPPORTED, "nothing opens such URIs here"
                + (scheme.startsWith("http") ? "; add undercroft-http to the class path" : known(all)), null);
    }

    private static String known(List<RangeSourceProvider> all) {
        String schemes = all.stream().flatMap(provider -> provider.schemes().stream()).sorted()
                .collect(Collectors.joining(", "));
        return "; the known schemes are file" + (schemes.isEmpty() ? "" : ", " + schemes);
    }

    /// Opens an object of a store as a file.
    ///
    /// @param source the object, which then belongs to the file
    /// @param request the options for opening
    /// @param budget the budget of stitched mappings
    /// @return the file, with one holder
    /// @throws IOException if there can be no temporary file
    static MappedFile open(RangeSource source, OpenRequest request, MapBudget budget) throws IOException {
        return MappedFile.open(source, request.mapping(), budget, request.temporaryDirectory());
    }

    /// {@return the settings of all stores}
    static List<Setting> settings() {
        return all().stream().flatMap(provider -> provider.settings().stream()).toList();
    }

    private static List<RangeSourceProvider> all() {
        List<RangeSourceProvider> all = new ArrayList<>();
        ClassLoader own = RangeSourceProvider.class.getClassLoader();
        addAll(own, all);
        ClassLoader context = Thread.currentThread().getContextClassLoader();
        if (context != own) {
            addAll(context, all);
        }
        return all;
    }

    private static void addAll(@Nullable ClassLoader loader, List<RangeSourceProvider> all) {
        Loadable<RangeSourceProvider> providers = new Loadable<>(RangeSourceProvider.class, loader, "a kind of store");
        for (RangeSourceProvider each = providers.next(); each != null; each = providers.next()) {
            Class<?> type = each.getClass();
            if (all.stream().noneMatch(known -> known.getClass() == type)) {
                all.add(each);
            }
        }
    }
}
