package io.undercroft.properties.formats;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.properties.Choices;
import io.undercroft.properties.states.Program;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveReport;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Sameness;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// A way in which states are written for others: a format, and what it is told.
@SuppressWarnings("ImmutableEnumChecker")
public enum Dialect {
    TORCH_ZIP("torch-zip") {
        @Override
        Object make(Choices choices, Program program) {
            return PythonMaker.make(choices, program);
        }

        @Override
        Object makeForPeers(Choices choices, Program program) {
            return PythonMaker.makeForPyTorch(choices, program);
        }

        @Override
        void check(Object state, Checkpoint opened) {
            // PyTorch gives a storage one class, so one without bytes that is used with several is written as several.
            Sameness.check(state, opened.state(), part -> part instanceof Storage storage && storage.nbytes() == 0);
        }
    },
    SAFETENSORS("safetensors") {
        @Override
        Object make(Choices choices, Program program) {
            return NamedMaker.make(choices, program, SAFETENSORS_TYPES);
        }

        @Override
        Object makeForPeers(Choices choices, Program program) {
            return NamedMaker.make(choices, program,
                    SAFETENSORS_TYPES.stream().filter(type -> !type.equals(SIX_BITS)).toList());
        }

        @Override
        void check(Object state, Checkpoint opened) {
            checkNamed(state, opened);
            NamedSameness.checkSharing(NamedSameness.named((Map<?, ?>) state), (Map<?, ?>) opened.state());
            assertThat(opened.metadata()).containsAllEntriesOf(TEXT);
        }
    },
    SAFETENSORS_COPIED(SAFETENSORS, "safetensors.sharing", "copy") {
        @Override
        void check(Object state, Checkpoint opened) {
            checkUnshared(state, opened);
        }
    },
    NPY("npy") {
        @Override
        Object make(Choices choices, Program program) {
            return NamedMaker.makeOne(choices, program, NUMPY_TYPES);
        }

        @Override
        void check(Object state, Checkpoint opened) {
            NamedSameness.checkElements("", (Tensor) state, opened.state());
        }
    },
    NPZ("npz") {
        @Override
        Object make(Choices choices, Program program) {
            return NamedMaker.make(choices, program, NUMPY_TYPES);
        }

        @Override
        void check(Object state, Checkpoint opened) {
            checkUnshared(state, opened);
        }
    },
    NPZ_DEFLATED(NPZ, "npz.compression", "deflate"), //
    GGUF("gguf") {
        @Override
        Object make(Choices choices, Program program) {
            return NamedMaker.makeGguf(choices, program, GGUF_TYPES);
        }

        /// The library has no bfloat16 without dimensions.
        @Override
        Object makeForPeers(Choices choices, Program program) {
            return NamedMaker.makeGguf(choices, program,
                    GGUF_TYPES.stream().filter(type -> !type.equals(DType.BFLOAT16)).toList());
        }

        @Override
        void check(Object state, Checkpoint opened) {
            checkUnshared(state, opened);
            NamedSameness.checkAttributes((Map<?, ?>) state, (Map<?, ?>) opened.state(), TEXT);
            assertThat(opened.metadata()).containsAllEntriesOf(TEXT);
        }
    },
    TORCH7("torch7", "torch7.encoding", "binary", "torch7.order", "little", "torch7.longs", "8"), //
    TORCH7_BIG("torch7", "torch7.encoding", "binary", "torch7.order", "big", "torch7.longs", "8"), //
    TORCH7_SHORT("torch7", "torch7.encoding", "binary", "torch7.order", "little", "torch7.longs", "4"), //
    TORCH7_TEXT("torch7", "torch7.encoding", "ascii") {
        @Override
        Object make(Choices choices, Program program) {
            return LuaMaker.makeText(choices, program);
        }
    };

    /// What is said about every file; formats that have no place for it leave it out.
    static final Map<String, String> TEXT = new TreeMap<>(Map.of("format", "pt", "made by", "a law \u65E5\n"));

    private static final DType SIX_BITS = DType.opaque("safetensors:F6_E2M3", 6);
    private static final List<DType> NUMPY_TYPES = List.of(DType.BOOL, DType.INT8, DType.INT16, DType.INT32,
            DType.INT64, DType.UINT8, DType.UINT16, DType.UINT32, DType.UINT64, DType.FLOAT16, DType.FLOAT32,
            DType.FLOAT64, DType.COMPLEX64, DType.COMPLEX128);
    private static final List<DType> SAFETENSORS_TYPES = and(
            NUMPY_TYPES.stream().filter(type -> !type.equals(DType.COMPLEX128)).toList(), DType.BFLOAT16,
            DType.FLOAT8_E4M3FN, DType.FLOAT8_E4M3FNUZ, DType.FLOAT8_E5M2, DType.FLOAT8_E5M2FNUZ, DType.FLOAT8_E8M0FNU,
            DType.FLOAT4_E2M1FN_X2, SIX_BITS);
    private static final List<DType> GGUF_TYPES = List.of(DType.INT8, DType.INT16, DType.INT32, DType.INT64,
            DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.FLOAT64, DType.opaque("gguf:Q4_0", 144),
            DType.opaque("gguf:Q6_K", 1680));

    private final String format;
    /// What it is like but for the settings for writing, of which a file says itself what has to be known; or null.
    private final @Nullable Dialect like;
    private final List<String> settings;

    Dialect(String format, String... settings) {
        this.format = format;
        this.like = null;
        this.settings = List.of(settings);
    }

    Dialect(Dialect like, String... settings) {
        this.format = like.format;
        this.like = like;
        this.settings = List.of(settings);
    }

    /// {@return a state of the kind that the format was made for}
    ///
    /// @param choices which one; equal ones make equal states
    /// @param program the program that grows with what is made
    Object make(Choices choices, Program program) {
        return like == null ? LuaMaker.make(choices, program) : like.make(choices, program);
    }

    /// {@return a state of that kind which the real library can hold too}
    Object makeForPeers(Choices choices, Program program) {
        return like == null ? make(choices, program) : like.makeForPeers(choices, program);
    }

    /// Fails if what is opened is not what was written.
    void check(Object state, Checkpoint opened) {
        if (like == null) {
            Sameness.check(LuaRetelling.of(state), opened.state());
        } else {
            like.check(state, opened);
        }
    }

    /// {@return the name of the format}
    String format() {
        return format;
    }

    SaveReport write(Path path, Object state) throws IOException {
        SaveOptions options = SaveOptions.defaults().format(format).metadata(TEXT);
        for (int i = 0; i < settings.size(); i += 2) {
            options = options.setting(settings.get(i), settings.get(i + 1));
        }
        return Checkpoint.save(path, state, options);
    }

    /// {@return options that say what the file was written with}
    OpenOptions opening() {
        OpenOptions options = OpenOptions.defaults().format(format);
        for (int i = 0; like == null && i < settings.size(); i += 2) {
            options = options.setting(settings.get(i), settings.get(i + 1));
        }
        return options;
    }

    private static List<DType> and(List<DType> types, DType... more) {
        return Stream.concat(types.stream(), Stream.of(more)).toList();
    }

    private static void checkNamed(Object state, Checkpoint opened) {
        NamedSameness.checkElements(NamedSameness.named((Map<?, ?>) state), (Map<?, ?>) opened.state());
    }

    private static void checkUnshared(Object state, Checkpoint opened) {
        checkNamed(state, opened);
        NamedSameness.checkNothingIsShared((Map<?, ?>) opened.state());
    }

    /// {@return the format, and what it is told}
    @Override
    public String toString() {
        List<String> values = new ArrayList<>();
        for (int i = 1; i < settings.size(); i += 2) {
            values.add(settings.get(i));
        }
        return format.toLowerCase(Locale.ROOT) + (values.isEmpty() ? "" : " (" + String.join(", ", values) + ")");
    }
}
