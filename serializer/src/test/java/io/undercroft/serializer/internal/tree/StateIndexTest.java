package io.undercroft.serializer.internal.tree;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class StateIndexTest {
    private final Tensor a = Tensor.of(1f, 2f);
    private final Tensor b = Tensor.of(3f);

    @Test
    void namesArePathsOfKeysAndIndices() {
        var index = StateIndex.of(Map.of("model", Map.of("list", List.of(1, a), "tuple", Tuple.of(b))));
        assertThat(index.tensors()).containsOnlyKeys("model/list/1", "model/tuple/0");
    }

    @Test
    void aLoneTensorHasTheEmptyName() {
        assertThat(StateIndex.of(a).tensors()).containsOnlyKeys("");
    }

    @Test
    void slashesAndTildesInKeysAreEscapedAsJsonPointerDoes() {
        assertThat(StateIndex.of(Map.of("a/b~c", a)).tensors()).containsOnlyKeys("a~1b~0c");
    }

    @Test
    void keysThatComeToOneNameAreToldApart() {
        Map<Object, Object> state = new LinkedHashMap<>();
        state.put("1", a);
        state.put(1L, b);
        assertThat(StateIndex.of(state).tensors()).containsOnlyKeys("1", "1#2");
    }

    @Test
    void aTensorInTwoPlacesHasTwoNamesAndTheFirstOneIsItsOwn() {
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("x", a);
        state.put("y", a);
        var index = StateIndex.of(state);
        assertThat(index.tensors()).containsOnlyKeys("x", "y");
        assertThat(index.nameOf(a)).isEqualTo("x");
        assertThat(index.nameOf(b)).isNull();
    }

    @Test
    void storagesComeOnceInOrderOfFirstUse() {
        Storage bare = Storage.allocate(8);
        var index = StateIndex.of(List.of(b, a.narrow(0, 0, 1), a, bare, new TypedStorage(bare, DType.FLOAT32)));
        assertThat(index.storages()).containsExactly(b.storage(), a.storage(), bare);
    }

    @Test
    void aTypedValueHasThePathOfItsPlaceAndItsAttributesLieBelow() {
        var typed = new Typed("torch.per_channel_affine", a);
        typed.attributes().put("scales", b);
        assertThat(StateIndex.of(Map.of("q", typed)).tensors()).containsOnlyKeys("q", "q/scales");
    }

    @Test
    void aParameterInTwoPlacesHasTwoNames() {
        var parameter = new Typed("torch.nn.parameter.Parameter", a);
        parameter.attributes().put("extra", b);
        assertThat(StateIndex.of(Tuple.of(parameter, parameter)).tensors()).containsOnlyKeys("0", "0/extra", "1");
    }

    @Test
    void attributesOfAMapAreWalkedAfterItsEntries() {
        var map = new TypedMap("collections.OrderedDict");
        map.attributes().put("extra", a);
        map.put("w", b);
        assertThat(StateIndex.of(map).tensors().sequencedKeySet()).containsExactly("w", "extra");
    }

    @Test
    void aSharedContainerIsWalkedOnceAndACycleEnds() {
        List<Object> shared = new ArrayList<>();
        shared.add(a);
        shared.add(shared);
        var index = StateIndex.of(Tuple.of(shared, shared));
        assertThat(index.tensors()).containsOnlyKeys("0/0");
        assertThat(index.pathOf(shared)).isEqualTo("0");
    }

    @Test
    void aTupleThatDoublesSixtyTimesTakesNoTime() {
        Object bomb = Tuple.of(a);
        for (int i = 0; i < 60; i++) {
            bomb = Tuple.of(bomb, bomb);
        }
        assertThat(StateIndex.of(bomb).tensors()).hasSize(1);
    }

    @Test
    void tensorsAsKeysAndNullsInSetsDoNotGetInTheWay() {
        Map<Object, Object> state = new LinkedHashMap<>();
        state.put(a, b);
        state.put(new byte[]{1}, a);
        state.put(Tuple.of(1L), a);
        state.put(Tuple.of(2L), a);
        state.put(0.5, a);
        state.put(7L, a);
        state.put(null, a);
        state.put("set", new LinkedHashSet<>(Arrays.asList(null, 1L)));
        assertThat(StateIndex.of(state).tensors()).containsOnlyKeys("tensor", "tensor#2", "bytes", "tuple", "tuple#2",
                "float", "7",
                "null");
    }

    @Test
    void pathsAreLimited() {
        String key = "k".repeat(StateIndex.MAX_NAME);
        assertThat(StateIndex.of(Map.of(key, a)).tensors()).containsOnlyKeys(key);
        assertThatIllegalArgumentException().isThrownBy(() -> StateIndex.of(Map.of(key + "k", a)))
                .withMessageContaining("4096");
        String outer = "\u65E5".repeat(StateIndex.MAX_NAME / 3 - 1);
        assertThat(StateIndex.of(Map.of(outer, List.of(a))).tensors()).containsOnlyKeys(outer + "/0");
        assertThatIllegalArgumentException().isThrownBy(() -> StateIndex.of(Map.of(outer + "kkk", List.of(a))));
        String escaped = "/".repeat(StateIndex.MAX_NAME / 2);
        assertThat(StateIndex.of(Map.of(escaped, a)).tensors()).hasSize(1);
        assertThatIllegalArgumentException().isThrownBy(() -> StateIndex.of(Map.of(escaped + "k", a)));
    }

    @Test
    void aNumberThatTellsNamesApartCountsToo() {
        Map<Object, Object> state = new LinkedHashMap<>();
        String key = "k".repeat(StateIndex.MAX_NAME - "/1#2".length());
        state.put("1", a);
        state.put(1L, b);
        assertThat(StateIndex.of(Map.of(key, state)).tensors()).containsOnlyKeys(key + "/1", key + "/1#2");
        assertThatIllegalArgumentException().isThrownBy(() -> StateIndex.of(Map.of(key + "k", state)))
                .withMessageContaining("4096");
    }

    @Test
    void nestingIsLimited() {
        Object deep = a;
        for (int i = 0; i < StateIndex.MAX_DEPTH; i++) {
            deep = new ArrayList<>(List.of(deep));
        }
        assertThat(StateIndex.of(deep).tensors()).hasSize(1);
        Object deeper = List.of(deep);
        assertThatIllegalArgumentException().isThrownBy(() -> StateIndex.of(deeper))
                .withMessageContaining("128").withMessageContaining("at '0/0/0/");
    }

    @Test
    void pathsOfContainersShareTheirBeginnings() {
        List<Object> many = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            many.add(new ArrayList<>());
        }
        String key = "k".repeat(4000);
        var index = StateIndex.of(Map.of(key, many));
        assertThat(index.pathOf(many.get(999))).isEqualTo(key + "/999");
    }

    @Test
    void everyNameIsChargedBeforeItIsMade() {
        List<Long> lengths = new ArrayList<>();
        StateIndex.of(Map.of("key", List.of(a, 1L, b, a)), lengths::add);
        assertThat(lengths).containsExactly(5L, 5L, 5L);
        assertThatIllegalArgumentException().isThrownBy(() -> StateIndex.of(List.of(a), _ -> {
            throw new IllegalArgumentException("too much");
        })).withMessage("too much");
    }

    @Test
    void namesOfVeryManyPlacesAreRefusedByPath() {
        Object places = Collections.nCopies(300_000, a);
        assertThatIllegalArgumentException().isThrownBy(() -> StateIndex.of(Map.of("k".repeat(4080), places)))
                .withMessageContaining("names of all tensors").withMessageContaining("'kkkk");
    }

    @Test
    void anEmptyKeyAddsNoSlash() {
        assertThat(StateIndex.of(Map.of("", Map.of("", Map.of("a", Map.of("", a))))).tensors()).containsOnlyKeys("a/");
    }
}
