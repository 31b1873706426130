package io.undercroft.properties.formats;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.properties.Scratch;
import io.undercroft.properties.states.StateSketch;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveReport;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Sameness;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

/// A state that is saved as a distributed checkpoint of PyTorch is opened as PyTorch reads it, or is refused.
class DistributedLawsTest {
    private static final SaveOptions OPTIONS = SaveOptions.defaults().format("torch-dcp")
            .setting("torch-dcp.shard", "4KB");

    @Provide
    Arbitrary<StateSketch> states() {
        return StateSketch.plain(20);
    }

    @Provide
    Arbitrary<ForeignSketch> ofPython() {
        return ForeignSketch.of(Dialect.TORCH_ZIP);
    }

    @Property(tries = 200)
    void whatIsReadIsWhatPyTorchMakesOfTheState(@ForAll("ofPython") ForeignSketch sketch) throws IOException {
        check(new Keys().plain(sketch.make()));
    }

    @Property(tries = 100)
    void anyStateIsRefusedOrRead(@ForAll("states") StateSketch state) throws IOException {
        check(state.make());
    }

    private static void check(Object state) throws IOException {
        try (Scratch scratch = Scratch.make(); Scratch again = Scratch.make(); Scratch through = Scratch.make()) {
            SaveReport report;
            try {
                report = Checkpoint.save(scratch.directory(), state, OPTIONS);
            } catch (IllegalArgumentException e) {
                assertThat(e.getMessage()).isNotBlank();
                assertThat(scratch.directory()).isEmptyDirectory();
                return;
            }
            try (Checkpoint opened = Checkpoint.open(scratch.directory())) {
                DistributedRetelling there = DistributedRetelling.of(state);
                if (!there.hasMetaInValues()) {
                    Sameness.check(there.told(), opened.state(), _ -> true);
                }
                assertThat(opened.verify().damages()).isEmpty();
                assertThat(opened.verify().unverifiedBytes()).isZero();
                assertThat(opened.unread()).isEmpty();
                if (there.hasDistinctNames()) {
                    ActualLosses.check(state, Map.of(), report, opened);
                }
                Checkpoint.save(again.directory(), opened.state(), OPTIONS);
                Checkpoint.save(through.file("a.croft"), opened.state(), SaveOptions.defaults().wholeStorages());
            }
            assertThat(files(again)).isEqualTo(files(scratch));
            again.clear();
            try (Checkpoint opened = Checkpoint.open(through.file("a.croft"))) {
                Checkpoint.save(again.directory(), opened.state(), OPTIONS);
            }
            assertThat(files(again)).isEqualTo(files(scratch));
        }
    }

    private static Map<String, List<Byte>> files(Scratch scratch) throws IOException {
        Map<String, List<Byte>> files = new HashMap<>();
        try (var paths = Files.list(scratch.directory())) {
            for (Path path : paths.toList()) {
                List<Byte> bytes = new ArrayList<>();
                for (byte each : Files.readAllBytes(path)) {
                    bytes.add(each);
                }
                files.put(path.getFileName().toString(), bytes);
            }
        }
        return files;
    }

    /// Makes states that can be saved of most: with keys that are text or numbers, with bytes, and with each container
    /// in one place.
    private static final class Keys {
        private final Set<Object> known = Collections.newSetFromMap(new IdentityHashMap<>());

        Object plain(Object value) {
            return switch (value) {
                case Map<?, ?> map when known.add(map) -> {
                    Map<Object, Object> copy = new LinkedHashMap<>();
                    if (map instanceof TypedMap typed) {
                        TypedMap same = new TypedMap(typed.type());
                        same.attributes().putAll(typed.attributes());
                        copy = same;
                    }
                    Map<Object, Object> into = copy;
                    map.forEach((key, item) -> into.put(
                            key instanceof String || key instanceof Long ? key : "key " + key, plain(item)));
                    yield into;
                }
                case List<?> list when !(list instanceof Tuple) && known.add(list) -> {
                    List<Object> copy = new ArrayList<>();
                    list.forEach(each -> copy.add(plain(each)));
                    yield copy;
                }
                case Tensor tensor when tensor.device().isMeta() -> 1L;
                // One that is in a value, too, is another one here.
                case Tensor tensor -> tensor.withFlags(tensor.flags());
                case byte[] bytes -> bytes.clone();
                case Tuple _ -> value;
                case Map<?, ?> _,List<?> _ -> 2L;
                case null, default -> value;
            };
        }
    }
}
