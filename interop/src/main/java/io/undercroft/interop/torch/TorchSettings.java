package io.undercroft.interop.torch;

import io.undercroft.interop.internal.FormatSettings;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.spi.Setting;

/// The settings that the formats of PyTorch have in common.
final class TorchSettings {
    private static final String STRICT_SETTING = "torch.strict";
    private static final String OBJECTS_SETTING = "torch.objects";
    /// Whether a file is refused that names other classes than those of tensors.
    static final Setting STRICT = Setting.ofOpening(STRICT_SETTING, "off, on");
    /// Whether objects of foreign classes are written.
    static final Setting OBJECTS = Setting.ofWriting(OBJECTS_SETTING, "refuse, write");

    private TorchSettings() {}

    /// {@return whether a file is refused that names other classes than those of tensors}
    static boolean isStrict(OpenOptions options) {
        FormatSettings settings = options::setting;
        return settings.isOther(STRICT_SETTING, "off", "on");
    }

    /// {@return whether objects of foreign classes are written}
    static boolean writesObjects(SaveOptions options) {
        FormatSettings settings = options::setting;
        return settings.isOther(OBJECTS_SETTING, "refuse", "write");
    }
}
