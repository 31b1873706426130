package io.undercroft.interop.torch7;

import io.undercroft.interop.internal.FormatSettings;
import io.undercroft.interop.internal.StorageFilter;
import io.undercroft.interop.torch7.LuaReader.Numbering;
import io.undercroft.interop.torch7.LuaReader.References;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.Setting;
import io.undercroft.serializer.spi.TreeContents;
import java.io.IOException;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// What `torch.save` of Torch7 writes. The [package][io.undercroft.interop.torch7] lists the types of Lua's values.
///
/// Opening reads all but the elements of storages. Those are mapped when they are first touched, if they are in the
/// file as in memory: written by a little-endian machine, and aligned by chance. Others are decoded then. Of a file in
/// ASCII the numbers have to be read when it is opened, which is the only way to find their end; they are not kept.
///
/// Settings, of [OpenOptions#setting] and [SaveOptions#setting]. What is not set when reading is found by trying; the
/// default for writing is that of Torch7 on 64-bit Linux.
///
/// | name | values | |
/// |---|---|---|
/// | `torch7.encoding` | `binary`, `ascii` | |
/// | `torch7.order` | `little`, `big` | the byte order of binary numbers |
/// | `torch7.longs` | `8`, `4` | the bytes of a binary `long`; 4 for files of Windows and 32-bit machines |
/// | `torch7.references` | `on`, `off` | `off` for files written with `referenced(false)` whose numbers are to be ignored; only for opening |
/// | `torch7.object` | `1`, `2` and so on | which object of a file that holds several, as those read by `File:readObject` one by one; only for opening |
///
/// A file with more than the object that is opened [reports that][Contents#unread]. If bytes that are no object follow
/// one whose class may have written them, the file is refused, unless `torch7.object` is set.
///
/// A file that is too short to be recognised (a single number, for instance), or not from its start on, is opened with
/// [OpenOptions#format] `torch7`; and so is text without objects of classes that is not set as Torch7 sets it, each
/// call on a separate line.
public final class Torch7Format implements CheckpointFormat {
    static final String OBJECT = "torch7.object";
    private static final String REFERENCES = "torch7.references";

    /// For the service loader.
    public Torch7Format() {}

    @Override
    public String name() {
        return "torch7";
    }

    /// Reads some kilobytes as an object, in each encoding.
    @Override
    public boolean matches(MappedFile file) throws IOException {
        return EncodingProbe.likeliest(file, Encoding.agreeing(OpenOptions.defaults()::setting), References.NUMBERED)
                .isConvincing();
    }

    /// Reads the object that the setting names, and lists what else is there, which Torch7 ignores unless it reads
    /// again.
    @Override
    public Contents open(MappedFile file, OpenOptions options) throws IOException {
        List<Encoding> encodings = Encoding.agreeing(options::setting);
        References references = references(options::setting);
        Encoding encoding = encodings.size() == 1
                ? encodings.getFirst()
                : EncodingProbe.likeliest(file, encodings, references).encoding();
        return StorageFilter.read(options, (opening, filter) -> contents(file,
                new Torch7Storages(file, opening, filter), encoding, references, opening));
    }

    private static TreeContents contents(MappedFile file, Torch7Storages storages, Encoding encoding,
            References references, OpenOptions options) throws IOException {
        FormatSettings settings = options::setting;
        int number = settings.ordinal(OBJECT);
        Input in = Input.of(encoding, file);
        LuaReader objects = new LuaReader(in, storages, references, Numbering.CONTINUED);
        Object state = objects.read();
        List<UnreadPart> unread = List.of();
        if (number > 1 || !in.isAtEnd()) {
            FileSurvey survey = FileSurvey.of(file, encoding, references);
            survey.check(number, options.setting(OBJECT).isPresent());
            if (number > 1) {
                objects = new LuaReader(Input.of(encoding, file), storages, references, survey.numbering());
                for (int i = 1; i <= number; i++) {
                    state = objects.read();
                }
            }
            unread = survey.besides(number);
        }
        // There are no checksums to compare.
        return TreeContents.of(state, Map.of(), _ -> List.of(), objects.budget())
                .withUnverified(1, file.size()).withUnread(unread);
    }

    private static References references(FormatSettings settings) {
        return settings.isOther(REFERENCES, "on", "off") ? References.WRITTEN_OUT : References.NUMBERED;
    }

    @Override
    public Set<Capability> capabilities() {
        return EnumSet.of(Capability.SAVE, Capability.SHARING, Capability.STATE);
    }

    @Override
    public List<Setting> settings() {
        return List.of(Setting.ofOpening("torch7.encoding", "binary, ascii"),
                Setting.ofWriting("torch7.encoding", "binary, ascii"),
                Setting.ofOpening("torch7.order", "little, big"),
                Setting.ofWriting("torch7.order", "little, big"),
                Setting.ofOpening("torch7.longs", "8, 4"),
                Setting.ofWriting("torch7.longs", "8, 4"),
                Setting.ofOpening(REFERENCES, "on, off"),
                Setting.ofOpening(OBJECT, FormatSettings.ORDINALS));
    }

    @Override
    public Draft draft(@Nullable Object state, SaveOptions options) {
        if (references(options::setting) == References.WRITTEN_OUT) {
            throw new IllegalArgumentException("the setting " + REFERENCES
                    + " is for opening files; what is written keeps what is shared");
        }
        return LuaWriter.draft(state, Encoding.agreeing(options::setting).getFirst());
    }
}
