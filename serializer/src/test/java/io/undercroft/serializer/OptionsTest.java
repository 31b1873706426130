package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import io.undercroft.serializer.SaveOptions.Sharing;
import io.undercroft.storage.Allocator;
import io.undercroft.storage.Device;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class OptionsTest {
    @ParameterizedTest
    @ValueSource(classes = {OpenOptions.class, SaveOptions.class})
    void everyOptionHasAValueBeforeItIsSet(Class<?> type) throws Exception {
        Object defaults = type.getMethod("defaults").invoke(null);
        List<Method> readers = methods(type).filter(method -> method.getParameterCount() == 0)
                .filter(method -> method.getReturnType() != type).toList();

        assertThat(readers).hasSizeGreaterThan(10);
        for (Method reader : readers) {
            assertThat(reader.invoke(defaults)).as(reader.getName()).isNotNull();
        }
    }

    @Test
    void anOptionThatIsSetTwiceHasTheSecondValueAndTheFirstOptionsHaveTheFirst() {
        OpenOptions first = OpenOptions.defaults().snapshot(3).only("a*").inMemory(Allocator.heap());
        OpenOptions second = first.newest().only(name -> name.equals("b")).inMemory();

        assertThat(first.snapshot()).hasValue(3);
        assertThat(first.isChosen("a1")).isTrue();
        assertThat(first.patterns()).hasSize(1);
        assertThat(first.memory()).isPresent();
        assertThat(second.snapshot()).isEmpty();
        assertThat(second.isChosen("a1")).isFalse();
        assertThat(second.patterns()).isEmpty();
        assertThat(second.isInMemory()).isTrue();
        assertThat(second.memory()).isEmpty();
    }

    @Test
    void deviceFunctionsAreNotAskedAboutStoragesWithoutBytes() {
        assertThat(OpenOptions.defaults().deviceFor(Device.cuda(1))).isEqualTo(Device.cuda(1));
        assertThat(OpenOptions.defaults().device(Device.CPU).deviceFor(Device.META)).isEqualTo(Device.META);
        assertThatNullPointerException()
                .isThrownBy(() -> OpenOptions.defaults().devices(_ -> null).deviceFor(Device.CPU))
                .withMessageContaining("OpenOptions.devices");
    }

    @Test
    void optionsThatAFormatCannotFollowAreNamedIfTheyHaveOtherValuesThanTheirDefaults() {
        SaveOptions defaults = SaveOptions.defaults();
        SaveOptions asDefaults = defaults.message("").sharing(Sharing.CONTENT).chunkSize(defaults.chunkSize())
                .classes(StateClasses.of()).metadata(Map.of("key", "value")).replacingSource();
        SaveOptions own = defaults.message("text").run("job", 1).time(Instant.EPOCH).uuid(new UUID(1, 2))
                .sharing(Sharing.IDENTITY).base(Path.of("base")).root(Path.of("")).wholeStorages().writableInPlace()
                .chunkSize(1 << 16).classes(StateClasses.of(Pair.class));

        assertThatNoException().isThrownBy(() -> asDefaults.requireForeign("a.npz", "npz"));
        assertThatIllegalArgumentException().isThrownBy(() -> own.requireForeign("a.npz", "npz"))
                .withMessageContaining("SaveOptions.message, run, time, uuid, sharing, base, root, wholeStorages, "
                        + "writableInPlace, chunkSize, classes; only a .croft file");
    }

    private record Pair(int first, int second) {}

    private static Stream<Method> methods(Class<?> type) {
        return Arrays.stream(type.getMethods()).filter(method -> method.getDeclaringClass() == type)
                .filter(method -> !Modifier.isStatic(method.getModifiers()));
    }
}
