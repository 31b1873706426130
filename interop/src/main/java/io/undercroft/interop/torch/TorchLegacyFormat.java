package io.undercroft.interop.torch;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.spi.Setting;
import java.io.IOException;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;

/// What `torch.save` wrote before PyTorch 1.6, and still writes when told so: a stream of pickles, and the storages behind
/// them, which nothing aligns. Those that happen to be aligned for their elements are mapped; the others are copied when they
/// are first touched. There are no checksums, so [Contents#verify] says that nothing was verified.
///
/// A file may hold several saves, one after the other. Then the first one is opened, as by `torch.load`; with
/// [OpenOptions#setting] `torch-legacy.save` another one, counted from 1.
public final class TorchLegacyFormat implements CheckpointFormat {
    private static final String SAVE = "torch-legacy.save";
    /// The ten-byte integer 0x1950a86a20f9469cfc6c and STOP, as hexadecimal digits.
    private static final String MAGIC = "8a0a6cfc9c46f9206aa850192e";
    /// How that starts in each pickle protocol: since 4 it has a frame of 13 bytes.
    private static final List<byte[]> STARTS = Stream
            .of("8002", "8003", "8004950d00000000000000", "8005950d00000000000000")
            .map(start -> HexFormat.of().parseHex(start + MAGIC)).toList();

    /// For the service loader.
    public TorchLegacyFormat() {}

    @Override
    public String name() {
        return "torch-legacy";
    }

    @Override
    public boolean matches(MappedFile file) throws IOException {
        for (byte[] start : STARTS) {
            if (file.startsWith(start)) {
                return true;
            }
        }
        return false;
    }

    /// Opens the first save of the file, or that which the setting names.
    @Override
    public Contents open(MappedFile file, OpenOptions options) throws IOException {
        long left = number(options);
        LegacySave save = LegacySave.at(file, 0);
        while (--left > 0) {
            if (save.end() == file.size()) {
                throw new FormatException("TORCH-SAVE", "the file has " + (number(options) - left) + " saves",
                        save.end(), "Ask for one of these with the setting " + SAVE);
            }
            save = LegacySave.at(file, save.end());
        }
        return save.open(options);
    }

    @Override
    public List<Setting> settings() {
        return List.of(Setting.ofOpening(SAVE, "1, 2 and so on"));
    }

    private static long number(OpenOptions options) {
        String number = options.setting(SAVE).orElse("1");
        if (!number.matches("[1-9]\\d{0,8}")) {
            throw new IllegalArgumentException(
                    "the setting " + SAVE + " is a number from 1, not " + FormatException.quote(number));
        }
        return Long.parseLong(number);
    }
}
