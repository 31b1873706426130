package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.ByteReader;
import io.undercroft.interop.internal.FormatSettings;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.UnreadPart.Kind;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.serializer.spi.Setting;
import java.io.IOException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/// What `torch.save` wrote before PyTorch 1.6, and still writes with an option: a stream of pickles, and the storages
/// behind them, which nothing aligns. Those that happen to be aligned for their elements are mapped; the others are
/// copied when they are first touched. There are no checksums, so [Contents#verify] reports that nothing was verified.
///
/// A file may hold several saves, one after the other. Then the first one is opened, as by `torch.load`; with
/// [OpenOptions#setting] `torch-legacy.save` another one, counted from 1. A file with more than the save that is opened
/// [reports that][Contents#unread].
public final class TorchLegacyFormat implements CheckpointFormat {
    private static final String SAVE = "torch-legacy.save";
    /// The ten-byte integer 0x1950a86a20f9469cfc6c and STOP, as hexadecimal digits.
    private static final String MAGIC = "8a0a6cfc9c46f9206aa850192e";
    /// Its first bytes in each pickle protocol: since protocol 4 it has a frame of 13 bytes.
    private static final List<byte[]> STARTS = Stream.concat(
            Stream.of("8002", "8003", "8004950d00000000000000", "8005950d00000000000000")
                    .map(start -> HexFormat.of().parseHex(start + MAGIC)),
            Stream.of(LegacySave.TEXT_MAGIC.getBytes(US_ASCII))).toList();

    /// For the service loader.
    public TorchLegacyFormat() {}

    @Override
    public String name() {
        return "torch-legacy";
    }

    @Override
    public boolean matches(MappedFile file) throws IOException {
        return isSave(new ByteReader(file, 0, file.size(), PickleInput::tooShort));
    }

    /// {@return whether the bytes of a file begin with the magic number of PyTorch, which is a pickle itself}
    static boolean isSave(ByteReader in) throws IOException {
        for (byte[] start : STARTS) {
            if (in.end() >= start.length && Arrays.equals(in.at(0).bytes(start.length), start)) {
                return true;
            }
        }
        return false;
    }

    /// Opens the first save of the file, or the one that the setting names, and lists what else is there, which
    /// `torch.load` ignores unless it is called again.
    @Override
    public Contents open(MappedFile file, OpenOptions options) throws IOException {
        FormatSettings settings = options::setting;
        int number = settings.ordinal(SAVE);
        boolean isStrict = TorchSettings.isStrict(options);
        long start = 0;
        ReadBudget budget = ReadBudget.of(file.size());
        LegacySave save = LegacySave.at(file, 0, isStrict, budget);
        for (int i = 1; i < number; i++) {
            if (save.end() == file.size()) {
                throw new FormatException("TORCH-SAVE", "the file has " + i + (i == 1 ? " save" : " saves"),
                        save.end(), "Ask for one of these with the setting " + SAVE);
            }
            start = save.end();
            save = LegacySave.at(file, start, isStrict, budget);
        }
        return save.open(options, besides(file, number, start, save.end(), isStrict, budget));
    }

    /// Returns the parts of a file other than one of its saves.
    ///
    /// @param number the number of the save
    /// @param start where it starts
    /// @param end where it ends
    private static List<UnreadPart> besides(MappedFile file, int number, long start, long end, boolean isStrict,
            ReadBudget budget) throws IOException {
        int count = number;
        long all = end;
        List<UnreadPart> rest = List.of();
        while (all < file.size() && rest.isEmpty()) {
            try {
                all = LegacySave.at(file, all, isStrict, budget).end();
                count++;
            } catch (FormatException e) {
                rest = List.of(new UnreadPart(Kind.BYTES, "no save of PyTorch that can be read (" + e.what() + ")", all,
                        file.size() - all, SAVE));
            }
        }
        if (count == 1) {
            return rest;
        }
        UnreadPart others = new UnreadPart(Kind.STATE,
                String.format(Locale.ROOT, "%s of %,d (save %,d was opened)",
                        count == 2 ? "1 save" : String.format(Locale.ROOT, "%,d saves", count - 1),
                        count, number),
                number == 1 ? end : 0, all - (end - start), SAVE);
        return Stream.concat(Stream.of(others), rest.stream()).toList();
    }

    @Override
    public List<Setting> settings() {
        return List.of(Setting.ofOpening(SAVE, FormatSettings.ORDINALS), TorchSettings.STRICT);
    }
}
