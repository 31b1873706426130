package io.undercroft.serializer.internal;

import io.undercroft.mmap.MapBudget;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.RemoteFileException;
import io.undercroft.mmap.RemoteFileException.Kind;
import io.undercroft.mmap.spi.RangeSource;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.internal.Providers.Loadable;
import io.undercroft.serializer.spi.Setting.Use;
import io.undercroft.serializer.spi.Setting;
import io.undercroft.serializer.spi.StoreProvider;
import io.undercroft.serializer.spi.StoreTarget;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// The kinds of stores that `ServiceLoader` finds.
public final class Stores {
    private static final String HADOOP = "undercroft-hadoop and the client of Hadoop";
    /// The modules for schemes that nothing on the class path may open.
    private static final Map<String, String> MODULES = Map.ofEntries(Map.entry("https", "undercroft-http"),
            Map.entry("http", "undercroft-http"), Map.entry("hdfs", HADOOP), Map.entry("webhdfs", HADOOP),
            Map.entry("swebhdfs", HADOOP), Map.entry("viewfs", HADOOP), Map.entry("s3a", HADOOP + ", hadoop-aws"),
            Map.entry("abfs", HADOOP + ", hadoop-azure"), Map.entry("abfss", HADOOP + ", hadoop-azure"),
            Map.entry("gs", HADOOP + ", gcs-connector"));

    private Stores() {}

    /// Opens an object of a store as a file.
    ///
    /// @param uri its URI, with a scheme that is not `file`
    /// @param options the options for opening
    /// @return the file, with one holder
    /// @throws RemoteFileException if nothing opens such a URI, or the object cannot be opened
    /// @throws IllegalArgumentException if the URI or a setting of the store is invalid
    /// @throws IOException if opening fails for another reason
    public static MappedFile open(URI uri, OpenOptions options) throws IOException {
        StoreProvider provider = of(uri);
        requirePrivate(options);
        return open(provider.open(uri, options), options, new MapBudget());
    }

    /// Opens an object of a store as a file.
    ///
    /// @param source the object, which then belongs to the file
    /// @param options the options for opening
    /// @return the file, with one holder
    /// @throws IllegalArgumentException if the options map it shared
    /// @throws IOException if there can be no temporary file
    public static MappedFile open(RangeSource source, OpenOptions options) throws IOException {
        try {
            requirePrivate(options);
        } catch (IllegalArgumentException e) {
            source.close();
            throw e;
        }
        return open(source, options, new MapBudget());
    }

    private static void requirePrivate(OpenOptions options) {
        if (options.mapping() == MapMode.SHARED) {
            throw new IllegalArgumentException("a file in a store is not mapped shared: writes would not reach it; "
                    + "open it copy-on-write");
        }
    }

    /// Finds the place of an object to write.
    ///
    /// @param uri its URI, with a scheme that is not `file`
    /// @param options the options for saving
    /// @return the place
    /// @throws RemoteFileException if nothing writes such a URI, or the store refuses
    /// @throws IllegalArgumentException if the URI or a setting of the store is invalid
    /// @throws IOException if that fails for another reason
    public static StoreTarget target(URI uri, SaveOptions options) throws IOException {
        return of(uri).target(uri, options);
    }

    /// {@return the names of the settings for writing that apply to the store of a URI}
    ///
    /// @param uri a URI with a scheme that is not `file`
    /// @throws RemoteFileException if nothing opens such a URI
    public static Set<String> settingsForWriting(URI uri) throws RemoteFileException {
        return of(uri).settings().stream().filter(setting -> setting.use() == Use.WRITING).map(Setting::name)
                .collect(Collectors.toUnmodifiableSet());
    }

    private static StoreProvider of(URI uri) throws RemoteFileException {
        String scheme = uri.getScheme().toLowerCase(Locale.ROOT);
        List<StoreProvider> all = all();
        for (StoreProvider provider : all) {
            if (provider.schemes().contains(scheme)) {
                return provider;
            }
        }
        throw new RemoteFileException(scheme + ":…", Kind.UNSUPPORTED, "nothing opens such URIs here"
                + (MODULES.containsKey(scheme) ? howToOpen(MODULES.get(scheme)) : known(all))
                + (scheme.equals("s3") ? "; Hadoop's client of S3 has the scheme s3a" : ""), null);
    }

    /// A jar that is made of several may have the classes of a module and have lost its service file.
    private static String howToOpen(String modules) {
        String module = modules.split(" ", 2)[0];
        String inModule = "io/undercroft/" + module.substring("undercroft-".length()) + "/internal/package-info.class";
        boolean isThere = loaders().anyMatch(loader -> loader.getResource(inModule) != null);
        return isThere
                ? "; " + module + " is on the class path, and its line in META-INF/services/"
                        + StoreProvider.class.getName()
                        + " is not: where jars are made into one, such files have to be "
                        + "merged, as the ServicesResourceTransformer of Maven's shade plugin does"
                : "; add " + modules + " to the class path";
    }

    private static String known(List<StoreProvider> all) {
        String schemes = all.stream().flatMap(provider -> provider.schemes().stream()).sorted()
                .collect(Collectors.joining(", "));
        return "; the known schemes are file" + (schemes.isEmpty() ? "" : ", " + schemes);
    }

    /// Opens an object of a store as a file.
    ///
    /// @param source the object, which then belongs to the file
    /// @param options the options for opening
    /// @param budget the budget of stitched mappings
    /// @return the file, with one holder
    /// @throws IOException if there can be no temporary file
    static MappedFile open(RangeSource source, OpenOptions options, MapBudget budget) throws IOException {
        return MappedFile.open(source, options.mapping(), budget, options.temporaryDirectory());
    }

    /// Opens an object next to another one as a file.
    ///
    /// @param file a file in a store
    /// @param path the path of the other one, relative to the directory of the file
    /// @param options the options for opening
    /// @param budget the budget of stitched mappings
    /// @return the other file, with one holder
    /// @throws RemoteFileException if it is not there, or the store does not respond
    /// @throws IOException if there can be no temporary file
    public static MappedFile sibling(MappedFile file, String path, OpenOptions options, MapBudget budget)
            throws IOException {
        return open(file.source().orElseThrow().sibling(path), options, budget);
    }

    /// {@return the settings of all stores}
    static List<Setting> settings() {
        return all().stream().flatMap(provider -> provider.settings().stream()).toList();
    }

    private static List<StoreProvider> all() {
        List<StoreProvider> all = new ArrayList<>();
        loaders().forEach(loader -> addAll(loader, all));
        return all;
    }

    private static Stream<ClassLoader> loaders() {
        return Stream.of(StoreProvider.class.getClassLoader(), Thread.currentThread().getContextClassLoader())
                .map(loader -> loader == null ? ClassLoader.getSystemClassLoader() : loader).distinct();
    }

    private static void addAll(ClassLoader loader, List<StoreProvider> all) {
        Loadable<StoreProvider> providers = new Loadable<>(StoreProvider.class, loader, "a kind of store");
        for (StoreProvider each = providers.next(); each != null; each = providers.next()) {
            Class<?> type = each.getClass();
            if (all.stream().noneMatch(known -> known.getClass() == type)) {
                all.add(each);
            }
        }
    }
}
