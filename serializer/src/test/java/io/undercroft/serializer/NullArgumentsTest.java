package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.internal.tree.StateKeys;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.TensorNodes;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.reflect.AnnotatedType;
import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Parameter;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// An argument that is null, and may not be, is refused by its name.
class NullArgumentsTest {
    /// May become the name of shared memory.
    private static final String TEXT = "undercroft-test-" + UUID.randomUUID();

    private static final Path MEMORY = Path.of("/dev/shm");

    @TempDir
    private Path folder;

    @Test
    void nullIsRefusedWithTheNameOfTheParameter() throws IOException {
        Path path = folder.resolve("x.croft");
        Checkpoint.save(path, Map.of("t", Tensor.of(1f)));
        List<String> wrong = new ArrayList<>();
        try (Checkpoint checkpoint = Checkpoint.open(path);
                CroftFile file = CroftFile.open(path);
                StagingMemory memory = new StagingMemory();
                Salvage salvage = CroftFile.open(path).salvage()) {
            for (Object instance : List.of(checkpoint, file, memory, salvage, OpenOptions.defaults(),
                    SaveOptions.defaults(), StateClasses.of(), Retention.last(1))) {
                for (Method method : instance.getClass().getMethods()) {
                    if (!Modifier.isStatic(method.getModifiers()) && isOurs(method)) {
                        check(method, instance, wrong);
                    }
                }
            }
            for (Class<?> type : List.of(Checkpoint.class, CroftFile.class, OpenOptions.class,
                    StateClasses.class, ShardSet.class, PublishedCheckpoint.class, Follower.class, TensorSpec.class,
                    StateIndex.class,
                    StateKeys.class, TensorNodes.class, Tuple.class, Typed.class, TypedMap.class, Symbol.class)) {
                for (Method method : type.getMethods()) {
                    if (Modifier.isStatic(method.getModifiers()) && isOurs(method)) {
                        check(method, null, wrong);
                    }
                }
                for (Constructor<?> constructor : type.getConstructors()) {
                    check(constructor, null, wrong);
                }
            }
        }
        assertThat(wrong).as("should throw a NullPointerException with the name of the parameter").isEmpty();
        try (Stream<Path> files = Files.list(folder)) {
            assertThat(files).containsExactly(path);
        }
        try (Stream<Path> files = Files.isDirectory(MEMORY) ? Files.list(MEMORY) : Stream.of()) {
            assertThat(files.map(registry -> registry.resolve("segments").resolve(TEXT))).noneMatch(Files::exists);
        }
    }

    private static boolean isOurs(Method method) {
        return method.getDeclaringClass().getPackageName().startsWith("io.undercroft.serializer")
                && !method.isBridge() && !method.getName().equals("equals") && !method.isSynthetic()
                && !Map.class.isAssignableFrom(method.getDeclaringClass());
    }

    private void check(Executable method, @Nullable Object instance, List<String> wrong) {
        Parameter[] parameters = method.getParameters();
        AnnotatedType[] types = method.getAnnotatedParameterTypes();
        for (int i = 0; i < parameters.length; i++) {
            boolean mayBeNull = parameters[i].getType().isPrimitive()
                    || Arrays.stream(types[i].getAnnotations()).anyMatch(Nullable.class::isInstance);
            if (!mayBeNull) {
                String said = call(method, instance, i, parameters);
                // The JDK says so itself where a parameter is used at once.
                if (Arrays.stream(parameters).map(Parameter::getName)
                        .noneMatch(name -> said.equals(name) || said.endsWith("because \"" + name + "\" is null"))) {
                    wrong.add(method.getDeclaringClass().getSimpleName() + "." + method.getName() + " with null as "
                            + parameters[i] + ": " + said);
                }
            }
        }
    }

    private String call(Executable method, @Nullable Object instance, int nulled, Parameter... parameters) {
        @Nullable
        Object[] arguments = new Object[parameters.length];
        for (int i = 0; i < arguments.length; i++) {
            arguments[i] = i == nulled ? null : some(parameters[i].getType());
        }
        try {
            Object made = method instanceof Constructor<?> constructor
                    ? constructor.newInstance(arguments)
                    : ((Method) method).invoke(instance, arguments);
            return "returned " + made;
        } catch (InvocationTargetException e) {
            return e.getCause() instanceof NullPointerException named
                    ? String.valueOf(named.getMessage())
                    : "threw " + e.getCause();
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private @Nullable Object some(Class<?> type) {
        if (type.isArray()) {
            return Array.newInstance(type.componentType(), 0);
        }
        if (type.isInterface() && !type.getName().startsWith("java.util.Map") && type != Path.class
                && type != List.class && type != Iterable.class) {
            return Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[]{type}, (_, _, _) -> null);
        }
        return switch (type.getName()) {
            case "java.nio.file.Path" -> folder.resolve("new.croft");
            case "java.lang.String" -> TEXT;
            case "long" -> 1L;
            case "int" -> 1;
            case "boolean" -> true;
            case "double" -> 1.0;
            case "java.lang.Class" -> Sample.class;
            case "java.util.Map" -> Map.of();
            case "java.util.List", "java.lang.Iterable" -> List.of();
            case "java.util.Optional" -> Optional.empty();
            case "java.util.UUID" -> new UUID(1, 2);
            case "java.lang.Object" -> Map.of();
            case "io.undercroft.serializer.OpenOptions" -> OpenOptions.defaults();
            case "io.undercroft.serializer.SaveOptions" -> SaveOptions.defaults();
            case "io.undercroft.serializer.StateClasses" -> StateClasses.of();
            case "io.undercroft.serializer.Retention" -> Retention.last(1);
            case "io.undercroft.storage.Tensor" -> Tensor.of(1f);
            case "java.time.Instant" -> Instant.EPOCH;
            case "io.undercroft.storage.Storage" -> Tensor.of(1f).storage();
            case "io.undercroft.storage.DType" -> DType.FLOAT32;
            default -> type.isEnum() ? type.getEnumConstants()[0] : null;
        };
    }

    record Sample(int x) {}
}
