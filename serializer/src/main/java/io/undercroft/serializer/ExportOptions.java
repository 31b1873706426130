package io.undercroft.serializer;

import io.undercroft.serializer.spi.CheckpointFormat;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// How a state is written as a file of another format: [Checkpoint#export(java.nio.file.Path, Object, ExportOptions)].
/// Immutable: each method with a parameter returns a changed copy.
public final class ExportOptions {
    private static final ExportOptions DEFAULTS = new ExportOptions(null, Map.of(), Map.of(),
            new Overwriting(false, false), (_, _) -> {});

    private final @Nullable String format;
    private final Map<String, String> metadata;
    private final Map<String, String> settings;
    private final Overwriting overwriting;
    private final SaveProgress progress;

    /// What may happen to files that are there.
    private record Overwriting(boolean referenced, boolean former) {}

    private ExportOptions(@Nullable String format, Map<String, String> metadata, Map<String, String> settings,
            Overwriting overwriting, SaveProgress progress) {
        this.overwriting = overwriting;
        this.format = format;
        this.metadata = metadata;
        this.settings = settings;
        this.progress = progress;
    }

    /// {@return the format that the name of the file ends in, no metadata, no settings}
    public static ExportOptions defaults() {
        return DEFAULTS;
    }

    /// Chooses the format, whatever the name of the file ends in.
    ///
    /// @param name the name of a format, for instance `safetensors`; see [Checkpoint#format]
    /// @return the changed options
    public ExportOptions format(String name) {
        return new ExportOptions(Objects.requireNonNull(name, "name"), metadata, settings, overwriting, progress);
    }

    /// Adds free-form text about the file. A format that has no place for it leaves it out.
    ///
    /// @param text replaces what was set before; without nulls, kept in its order
    /// @return the changed options
    public ExportOptions metadata(Map<String, String> text) {
        text.forEach((key, value) -> {
            Objects.requireNonNull(key, "a key of the metadata is null");
            Objects.requireNonNull(value, () -> "the metadata of " + key + " is null");
        });
        return new ExportOptions(format, Collections.unmodifiableMap(new LinkedHashMap<>(text)), settings,
                overwriting, progress);
    }

    /// Sets how a format writes. A name that is no [setting][CheckpointFormat#settings] of the format that is written
    /// is refused when a state is exported.
    ///
    /// @param name the name of the format, a dot, and a name, for instance `torch7.encoding`
    /// @param value what the format documents, for instance `ascii`
    /// @return the changed options
    public ExportOptions setting(String name, String value) {
        Objects.requireNonNull(name, "name");
        Objects.requireNonNull(value, "value");
        return settings(Map.of(name, value));
    }

    /// Sets several settings, as [#setting(String, String)].
    ///
    /// @param settings values by name
    /// @return the changed options
    public ExportOptions settings(Map<String, String> settings) {
        Objects.requireNonNull(settings, "settings");
        Map<String, String> more = new HashMap<>(this.settings);
        more.putAll(settings);
        return new ExportOptions(format, metadata, Map.copyOf(more), overwriting, progress);
    }

    /// Names somebody to be told how far writing has come. The bytes of which it is told are those of the file, or
    /// of all files of a set.
    ///
    /// @param listener who is told
    /// @return the changed options
    public ExportOptions progress(SaveProgress listener) {
        return new ExportOptions(format, metadata, settings, overwriting,
                Objects.requireNonNull(listener, "listener"));
    }

    /// Allows a file to be replaced in which bytes of other files are stored; see [SaveOptions#replacingReferenced()].
    ///
    /// @return the changed options
    public ExportOptions replacingReferenced() {
        return new ExportOptions(format, metadata, settings, new Overwriting(true, overwriting.former), progress);
    }

    /// Deletes the files of a set that is replaced, once the new set is durable: those that the former index names and
    /// that are beside it. A file that this process knows to be referenced elsewhere stays, and so does a symbolic
    /// link. By default all of them stay; what became of them is in the [report][ExportReport#leftBehind()]. A `.croft`
    /// file that has bytes in them and that this process has not seen is not looked for, and loses these bytes.
    ///
    /// @return the changed options
    public ExportOptions deletingFormerFiles() {
        return new ExportOptions(format, metadata, settings, new Overwriting(overwriting.referenced, true), progress);
    }

    /// {@return the name of the format, if that was said}
    public Optional<String> format() {
        return Optional.ofNullable(format);
    }

    /// {@return free-form text about the file}
    public Map<String, String> metadata() {
        return metadata;
    }

    /// {@return what was said to a format, if anything was}
    ///
    /// @param name the name of a setting
    public Optional<String> setting(String name) {
        Objects.requireNonNull(name, "name");
        return Optional.ofNullable(settings.get(name));
    }

    /// {@return all that was said to formats, by the names of the settings}
    public Map<String, String> settings() {
        return settings;
    }

    /// {@return who is told how far writing has come; somebody who does not listen if nobody was named}
    public SaveProgress progress() {
        return progress;
    }

    /// {@return whether the files of a set that is replaced are deleted}
    public boolean isDeletingFormerFiles() {
        return overwriting.former;
    }

    /// {@return whether a file may be replaced in which bytes of other files are stored}
    public boolean isReplacingReferenced() {
        return overwriting.referenced;
    }
}
