package io.undercroft.properties.states;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.properties.Scratch;
import io.undercroft.testsupport.Sameness;
import java.io.ByteArrayOutputStream;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.jspecify.annotations.Nullable;

/// The program that a sketch prints makes the state of the sketch.
class PrintedSketchesTest {
    private static final String IMPORTS = """
            package io.undercroft.properties.states;

            import io.undercroft.mmap.MapMode;
            import io.undercroft.properties.states.TrainingObjects.*;
            import io.undercroft.properties.states.TrainingObjects.Module;
            import io.undercroft.serializer.state.*;
            import io.undercroft.storage.*;
            import java.lang.foreign.MemorySegment;
            import java.math.*;
            import java.net.URI;
            import java.nio.file.Path;
            import java.time.*;
            import java.util.*;
            import java.util.concurrent.*;
            import java.util.concurrent.atomic.*;
            """;
    private static final AtomicInteger COUNT = new AtomicInteger();

    @Provide
    Arbitrary<List<StateSketch>> states() {
        return Combinators.combine(StateSketch.plain().list().ofSize(15), StateSketch.ofObjects().list().ofSize(15))
                .as((plain, ofObjects) -> Stream.of(plain, ofObjects).flatMap(List::stream).toList());
    }

    @Provide
    Arbitrary<List<OddGeometry>> odd() {
        return OddGeometry.any().list().ofSize(15);
    }

    @Property(tries = 1)
    void theProgramMakesTheState(@ForAll("states") List<StateSketch> sketches, @ForAll("odd") List<OddGeometry> odd)
            throws Exception {
        List<@Nullable Object> made = new ArrayList<>();
        sketches.forEach(sketch -> made.add(sketch.make()));
        odd.forEach(sketch -> made.add(sketch.make()));
        check(Stream.of(sketches, odd).flatMap(List::stream).toList(), made);
    }

    private static void check(List<?> sketches, List<?> states) throws Exception {
        String name = "Printed" + COUNT.incrementAndGet();
        StringBuilder source = new StringBuilder(IMPORTS + "final class " + name + " {\n");
        for (int i = 0; i < sketches.size(); i++) {
            String result = sketches.get(i) instanceof OddGeometry ? "m0" : "state";
            source.append("static Object state").append(i).append("() {\n").append(sketches.get(i))
                    .append("return ").append(result).append(";\n}\n");
        }
        Class<?> printed = compiled(name, source + "}\n");
        for (int i = 0; i < sketches.size(); i++) {
            Method method = printed.getDeclaredMethod("state" + i);
            Sameness.check(states.get(i), method.invoke(null));
        }
    }

    /// In this package, whose classes the programs use.
    private static Class<?> compiled(String name, String source) throws Exception {
        try (Scratch scratch = Scratch.make()) {
            Path file = Files.writeString(scratch.file(name + ".java"), source);
            ByteArrayOutputStream faults = new ByteArrayOutputStream();
            int result = ToolProvider.getSystemJavaCompiler().run(null, null, faults, "-proc:none", "-nowarn",
                    "-implicit:none", file.toString());
            assertThat(result).as("%s%n%s", source, faults.toString(StandardCharsets.UTF_8)).isZero();
            return MethodHandles.lookup().defineClass(Files.readAllBytes(scratch.file(name + ".class")));
        }
    }
}
