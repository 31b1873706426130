package io.undercroft.properties.states;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.properties.Scratch;
import io.undercroft.properties.formats.Dialect;
import io.undercroft.properties.formats.ForeignSketch;
import io.undercroft.testsupport.Sameness;
import java.io.ByteArrayOutputStream;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

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
    Arbitrary<List<Sketch>> sketches() {
        return Combinators.combine(several(StateSketch.plain()), several(StateSketch.ofObjects()),
                several(OddGeometry.any()), each(ForeignSketch::annotated), each(ForeignSketch::forPeers))
                .as((plain, ofObjects, odd, annotated, forPeers) -> Stream
                        .of(plain, ofObjects, odd, annotated, forPeers).flatMap(List::stream).toList());
    }

    private static Arbitrary<List<Sketch>> several(Arbitrary<? extends Sketch> sketches) {
        return sketches.map(sketch -> (Sketch) sketch).list().ofSize(15);
    }

    private static Arbitrary<List<Sketch>> each(Function<Dialect, Arbitrary<ForeignSketch>> sketches) {
        return Combinators.combine(Stream.of(Dialect.values())
                .map(dialect -> sketches.apply(dialect).map(sketch -> (Sketch) sketch).list().ofSize(4)).toList())
                .as(lists -> lists.stream().flatMap(List::stream).toList());
    }

    @Property(tries = 1)
    void theProgramMakesTheState(@ForAll("sketches") List<Sketch> sketches) throws Exception {
        String name = "Printed" + COUNT.incrementAndGet();
        StringBuilder source = new StringBuilder(IMPORTS + "final class " + name + " {\n");
        for (int i = 0; i < sketches.size(); i++) {
            source.append("static Object state").append(i).append("() {\n").append(sketches.get(i))
                    .append("return state;\n}\n");
        }
        Class<?> printed = compiled(name, source + "}\n");
        for (int i = 0; i < sketches.size(); i++) {
            Method method = printed.getDeclaredMethod("state" + i);
            Sameness.check(sketches.get(i).make(), method.invoke(null));
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
