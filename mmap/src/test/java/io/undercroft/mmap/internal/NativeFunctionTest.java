package io.undercroft.mmap.internal;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/// Functions of the C library are what their declarations say, and take no other arguments.
@EnabledOnOs(OS.LINUX)
class NativeFunctionTest {
    /// More than any of 32 bits.
    private static final long TOO_MUCH = 1L << 40;

    @TempDir
    Path folder;

    static List<NativeFunction> functions() throws IllegalAccessException {
        Libc libc = Libc.find().orElseThrow();
        List<Field> fields = Arrays.stream(Libc.class.getDeclaredFields())
                .filter(field -> field.getType() == NativeFunction.class).toList();
        NativeFunction[] functions = new NativeFunction[fields.size()];
        for (int i = 0; i < functions.length; i++) {
            fields.get(i).setAccessible(true);
            functions[i] = (NativeFunction) fields.get(i).get(libc);
        }
        return List.of(functions);
    }

    /// The compiler refuses a declaration that differs from that of the header in a type or in the number of
    /// parameters.
    @Test
    void eachIsDeclaredAsInTheHeadersOfTheSystem() throws Exception {
        String headers = Stream.of("fcntl", "unistd", "stdio", "sys/file", "sys/mman", "sys/stat", "sys/vfs")
                .map(header -> "#include <" + header + ".h>\n").collect(Collectors.joining());
        String declared = functions().stream().map(function -> function + ";\n").collect(Collectors.joining());
        assertThat(compiled("#define _GNU_SOURCE\n" + headers + declared)).isEmpty();
        assertThat(compiled("#define _GNU_SOURCE\n" + headers + "int flock(int fd);\n")).contains("conflicting types");
        assertThat(compiled("#define _GNU_SOURCE\n" + headers + "int flock(int fd, long how);\n"))
                .contains("conflicting types");
    }

    private String compiled(String program) throws IOException, InterruptedException {
        Path compiler = Path.of("/usr/bin/cc");
        assumeTrue(Files.isExecutable(compiler), "a C compiler");
        Path source = Files.writeString(folder.resolve("declarations.c"), program);
        Process process = new ProcessBuilder(compiler.toString(), "-fsyntax-only", "-D_FILE_OFFSET_BITS=64",
                source.toString()).redirectErrorStream(true).start();
        String printed = new String(process.getInputStream().readAllBytes(), UTF_8);
        process.waitFor();
        return printed;
    }

    @ParameterizedTest
    @MethodSource("functions")
    void eachTakesTheArgumentsOfItsDeclarationOnly(NativeFunction function) {
        String declaration = function.toString();
        String[] parameters = declaration.contains("(void)")
                ? new String[0]
                : declaration.substring(declaration.indexOf('(')).split(",");
        assertThatThrownBy(() -> function.call(new long[parameters.length + 1]))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith(declaration + " is called with [0");
        if (parameters.length > 0) {
            assertThatThrownBy(() -> function.call(new long[parameters.length - 1]))
                    .isInstanceOf(IllegalArgumentException.class);
        }
        for (int i = 0; i < parameters.length; i++) {
            if (parameters[i].matches("\\(?\\s*(int|unsigned|mode_t) \\w+\\)?")) {
                long[] wide = new long[parameters.length];
                wide[i] = TOO_MUCH;
                assertThatThrownBy(() -> function.call(wide)).as("argument %d", i)
                        .isInstanceOf(IllegalArgumentException.class);
            }
        }
    }

    @Test
    void aFunctionThatIsNotThereFailsLikeACallThatTheKernelDoesNotHave() {
        NativeFunction none = NativeFunction.of("int undercroft_none(int fd)");
        assertThatThrownBy(() -> none.call(1)).isInstanceOfSatisfying(ErrnoException.class,
                e -> assertThat(e.errno()).isEqualTo(ErrnoException.ENOSYS))
                .hasMessage("undercroft_none failed with errno 38 (ENOSYS, the system has no such call)");
    }

    @Test
    void aResultOf32BitsIsCutAndOneOf64BitsIsNot() throws ErrnoException {
        assertThat(NativeFunction.of("int abs(int number)").call(-7)).isEqualTo(7);
        assertThat(NativeFunction.of("size_t labs(size_t number)").call(-TOO_MUCH)).isEqualTo(TOO_MUCH);
    }

    @Test
    void aTypeThatIsNotKnownIsRefused() {
        assertThatThrownBy(() -> NativeFunction.of("double sqrt(double number)"))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("'double'");
        assertThatCode(() -> NativeFunction.of("void *malloc(size_t size)")).doesNotThrowAnyException();
    }
}
