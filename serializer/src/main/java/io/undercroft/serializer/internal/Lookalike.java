package io.undercroft.serializer.internal;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MappedFile;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/// A kind of file that is not opened here and is often found in place of one that is: an error page, a compressed file,
/// or a model of another program.
///
/// @param pattern a pattern of its first and last bytes as characters, of which letters may have either case
/// @param what its name
/// @param remedy the way to obtain a file that can be opened
record Lookalike(Pattern pattern, String what, String remedy) {
    /// How many bytes at the start and at the end are looked at.
    private static final int LOOKED_AT = 1 << 15;
    private static final String DOWNLOAD = "Look at it in a browser: it may say why; then download the file again";
    private static final String SAVE_ARRAYS = ", and save its arrays with numpy.savez or as safetensors";
    private static final String OR_JOBLIB = ", or joblib.load and joblib.dump without compress";
    private static final String OLD_GGML = "Convert it to GGUF with the scripts of llama.cpp or whisper.cpp";

    private static Lookalike of(String pattern, String what, String remedy) {
        return new Lookalike(Pattern.compile(pattern, Pattern.DOTALL | Pattern.CASE_INSENSITIVE), what, remedy);
    }

    private static Lookalike compressed(String pattern, String by, String command) {
        return of(pattern, "a file compressed by " + by, "Decompress it first, with " + command);
    }

    /// Those that say more come first.
    private static Stream<Lookalike> all() {
        return Stream.of(
                of("\\s*version https://git-lfs\\.github\\.com/spec/", "a pointer of Git LFS and not the file itself",
                        "Fetch the file with git lfs pull"),
                of("\\s*(<!doctype html|<html)", "an HTML page", DOWNLOAD),
                compressed("\\x1f\\x8b", "gzip", "gunzip"),
                compressed("BZh", "bzip2", "bunzip2" + OR_JOBLIB),
                compressed("\\xfd7zXZ\\x00", "xz", "unxz" + OR_JOBLIB),
                compressed("]\\x00\\x00", "lzma", "unlzma" + OR_JOBLIB),
                compressed("\\x28\\xb5\\x2f\\xfd", "zstd", "unzstd"),
                compressed("\\x04\"M\\x18", "lz4", "unlz4" + OR_JOBLIB),
                compressed("7z\\xbc\\xaf\\x27\\x1c", "7-Zip", "7z x"),
                compressed("ZF0x", "joblib before 0.10", "joblib.load and joblib.dump of a newer joblib"),
                of("(.{512})?\\x89HDF\\r\\n\\x1a\\n", "a file of HDF5, in which Keras and others keep models",
                        "Read it with h5py or keras.models.load_model" + SAVE_ARRAYS),
                of("(?=.{257}ustar).*model_config\\.yaml", "a model of NeMo (.nemo)",
                        "Unpack it with tar, and open model_weights.ckpt"),
                of(".{257}ustar", "a tar archive", "Unpack it with tar, and open the files in it"),
                of(".{4}TFL3", "a model of TensorFlow Lite", "Read it with tf.lite.Interpreter" + SAVE_ARRAYS),
                of(".{4}ET\\d\\d", "a program of ExecuTorch (.pte)",
                        "Save the state_dict() of the model that it was exported from"),
                of("\\x08\\x01\\x12", "a SavedModel of TensorFlow",
                        "Load its directory with tf.saved_model.load" + SAVE_ARRAYS),
                of("model_checkpoint_path:", "the list of the checkpoints of TensorFlow in its directory",
                        "Read a checkpoint with tf.train.load_checkpoint" + SAVE_ARRAYS),
                of(".*W\u00fb\u0080\u008b\\$uG\u00db\\z", "the index of a checkpoint of TensorFlow",
                        "Read the checkpoint with tf.train.load_checkpoint" + SAVE_ARRAYS),
                of("\\x08[\\x03-\\x20][\\x12\\x1a\\x22\\x28\\x3a\\x42]", "a model of ONNX",
                        "Read it with onnx.load and onnx.numpy_helper" + SAVE_ARRAYS),
                of("(lmgg|fmgg|tjgg|algg)", "a file of ggml before GGUF", OLD_GGML),
                of("([\\x81-\\x8f]|\\xde.{2})[\\xa1-\\xbf][ -~]", "data of MessagePack, as Flax writes them",
                        "Read it with flax.serialization.msgpack_restore" + SAVE_ARRAYS),
                of("PAR1", "a file of Parquet", "Read it with pyarrow.parquet" + SAVE_ARRAYS),
                of("ARROW1", "a file of Arrow", "Read it with pyarrow.ipc" + SAVE_ARRAYS),
                of("MATLAB 5\\.0 MAT-file", "a file of MATLAB", "Read it with scipy.io.loadmat" + SAVE_ARRAYS),
                // A text may start with the two bytes too, but has no such characters.
                compressed("(?-i:x)[\\x01\\x5e\\x9c\\xda].{0,253}[\\x00-\\x08\\x0e-\\x1f]", "zlib",
                        "zlib.decompress of Python"));
    }

    /// {@return the remedy for a file that no format recognises, if it is one of these}
    ///
    /// @param file the file
    /// @throws IOException if reading fails
    static Optional<FormatException> of(MappedFile file) throws IOException {
        String bytes = read(file, 0) + read(file, Math.max(0, file.size() - LOOKED_AT));
        return all().filter(each -> each.pattern.matcher(bytes).lookingAt()).findFirst()
                .map(each -> new FormatException("FORMAT-UNKNOWN", "this is " + each.what, 0, each.remedy));
    }

    /// {@return what a directory is in which no file is of a known format, and how to obtain one, if it is known}
    ///
    /// @param directory the directory
    static Optional<String> of(Path directory) {
        return Stream.of(
                Map.entry("saved_model.pb",
                        "a SavedModel of TensorFlow. Load it with tf.saved_model.load" + SAVE_ARRAYS),
                Map.entry("_METADATA", "a checkpoint of Orbax. Restore it with orbax.checkpoint" + SAVE_ARRAYS),
                Map.entry("_CHECKPOINT_METADATA",
                        "a checkpoint of Orbax. Restore it with orbax.checkpoint" + SAVE_ARRAYS))
                .filter(each -> Files.isRegularFile(directory.resolve(each.getKey()))).map(Map.Entry::getValue)
                .findFirst();
    }

    private static String read(MappedFile file, long offset) throws IOException {
        byte[] bytes = new byte[(int) Math.min(file.size() - offset, LOOKED_AT)];
        file.read(offset, MemorySegment.ofArray(bytes));
        return new String(bytes, ISO_8859_1);
    }
}
