package io.undercroft.serializer.internal;

import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.SetManifest;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.internal.sets.SetFile;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.spi.Setting;
import java.io.IOException;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.SequencedSet;
import java.util.Set;

/// The format of `.croft` files, and of the manifests of sets of them.
public final class CroftFormat implements CheckpointFormat {
    /// Enough of the signature to recognise the format; damage of the rest is then reported as such.
    private static final byte[] SIGNATURE_START = {(byte) 0x89, 'C', 'R', 'F'};
    private static final byte[] SET_START = {(byte) 0x89, 'C', 'R', 'S'};

    @Override
    public String name() {
        return "croft";
    }

    @Override
    public Set<Capability> capabilities() {
        return Set.of(Capability.SAVE, Capability.SHARING, Capability.STATE, Capability.METADATA,
                Capability.CHECKSUMS);
    }

    @Override
    public List<String> suffixes() {
        return List.of(".croft");
    }

    @Override
    public List<Setting> settings() {
        return ExtentCache.SETTINGS;
    }

    @Override
    public boolean matches(MappedFile file) throws IOException {
        return file.startsWith(SIGNATURE_START) || file.startsWith(SET_START);
    }

    @Override
    public SequencedSet<String> companionNames(MappedFile file) throws IOException {
        SequencedSet<String> names = new LinkedHashSet<>();
        if (file.startsWith(SET_START)) {
            SetManifest.read(new FileSource(file), Limits.DEFAULT).shards().forEach(shard -> names.add(shard.path()));
        }
        return names;
    }

    @Override
    public Contents open(MappedFile file, OpenOptions options) throws IOException {
        if (file.startsWith(SET_START)) {
            return SetFile.contents(file, options);
        }
        Snapshot newest = Snapshot.open(new FileSource(file), Limits.DEFAULT);
        return CroftContents.open(file, newest, CommitNumbers.find(newest, options, file.location()), options);
    }
}
