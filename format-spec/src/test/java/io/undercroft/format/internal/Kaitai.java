package io.undercroft.format.internal;

import io.kaitai.struct.ByteBufferKaitaiStream;
import io.kaitai.struct.KaitaiStream;
import java.io.IOException;
import java.io.StringWriter;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/// Readers that the official compiler of Kaitai Struct makes from descriptions of formats.
///
/// The compiler is run as a program, for it is one: it ends the process when a description is wrong.
final class Kaitai implements AutoCloseable {
    private static final String MAIN = "io.kaitai.struct.JavaMain";
    private static final String PACKAGE = "kaitai";
    private static final String CLASS_PATH = System.getProperty("java.class.path");

    private final URLClassLoader classes;

    private Kaitai(URLClassLoader classes) {
        this.classes = classes;
    }

    /// {@return readers of a format and of those that its description imports}
    ///
    /// @param description the `.ksy` file
    /// @param folder an empty one, for what is made of it
    /// @throws AssertionError if the description is wrong; it says where and how
    static Kaitai compile(Path description, Path folder) throws IOException, InterruptedException {
        makeJava(description, folder);
        compileJava(folder);
        return new Kaitai(new URLClassLoader(new URL[]{folder.toUri().toURL()}, Kaitai.class.getClassLoader()));
    }

    private static void makeJava(Path description, Path folder) throws IOException, InterruptedException {
        Process compiler = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", CLASS_PATH, MAIN, "--target", "java",
                "--java-package", PACKAGE,
                "--read-pos", "--outdir", folder.toString(), description.toString()).redirectErrorStream(true).start();
        String said = new String(compiler.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (compiler.waitFor() != 0) {
            throw new AssertionError(description + " is no description of a format:\n" + said);
        }
    }

    private static void compileJava(Path folder) throws IOException {
        JavaCompiler javac = ToolProvider.getSystemJavaCompiler();
        StringWriter said = new StringWriter();
        try (StandardJavaFileManager files = javac.getStandardFileManager(null, null, StandardCharsets.UTF_8);
                Stream<Path> made = Files.list(folder.resolve(PACKAGE))) {
            List<String> options = List.of("-proc:none", "-nowarn", "-cp", CLASS_PATH, "-d", folder.toString());
            if (!javac.getTask(said, files, null, options, null, files.getJavaFileObjectsFromPaths(made.toList()))
                    .call()) {
                throw new AssertionError("what was made of the descriptions does not compile:\n" + said);
            }
        }
    }

    /// Reads a file.
    ///
    /// @param format the description's name with an upper-case letter
    /// @param file the bytes
    /// @return what is in it
    /// @throws RuntimeException if it is not of the format
    Parsed parse(String format, byte[] file) {
        try {
            return new Parsed(classes.loadClass(PACKAGE + '.' + format).getConstructor(KaitaiStream.class)
                    .newInstance(new ByteBufferKaitaiStream(file)));
        } catch (InvocationTargetException e) {
            throw new IllegalArgumentException("not a " + format, e.getCause());
        } catch (ReflectiveOperationException e) {
            throw new LinkageError("there is no reader for " + format, e);
        }
    }

    @Override
    public void close() throws IOException {
        classes.close();
    }
}
