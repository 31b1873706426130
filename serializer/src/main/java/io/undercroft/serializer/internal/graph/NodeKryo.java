package io.undercroft.serializer.internal.graph;

import com.esotericsoftware.kryo.Kryo;
import com.esotericsoftware.kryo.KryoException;
import com.esotericsoftware.kryo.Registration;
import com.esotericsoftware.kryo.Serializer;
import com.esotericsoftware.kryo.io.Input;
import com.esotericsoftware.kryo.io.Output;
import com.esotericsoftware.kryo.serializers.ImmutableSerializer;
import com.esotericsoftware.kryo.util.DefaultClassResolver;
import io.undercroft.format.FormatException;
import io.undercroft.serializer.StateClasses;
import io.undercroft.serializer.state.StateIndex;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import org.jspecify.annotations.Nullable;
import org.objenesis.instantiator.ObjectInstantiator;
import org.objenesis.strategy.InstantiatorStrategy;
import org.objenesis.strategy.StdInstantiatorStrategy;

/// Kryo for the bytes of one node of the tree at a time.
///
/// Immutable values and constants of enums are written in their place. Everything else that a serializer hands to Kryo
/// is a child: it is in the tree, where its identity is kept and its tensors have names, and the bytes only say
/// that it comes here. So the bytes need no references, and nothing in them is deep, but for what a serializer writes
/// with another serializer of its own choice. Not thread-safe.
final class NodeKryo extends Kryo {
    /// Represents in the bytes the class of a child that is not registered, a list for instance.
    private static final class Child {}

    private static final int CHILD_ID = 9;

    private final Map<Class<?>, Registration> registrations = new HashMap<>();
    private final Serializer<Object> childSerializer = new ChildSerializer();
    private final StateClasses classes;
    private Map<String, ? extends @Nullable Object> children = Map.of();
    private SequencedMap<String, @Nullable Object> written = new LinkedHashMap<>();
    private int read;

    NodeKryo(StateClasses classes) {
        super(new Names(classes), null);
        this.classes = classes;
        setRegistrationRequired(true);
        setMaxDepth(StateIndex.MAX_DEPTH);
        setAutoReset(false);
        setInstantiatorStrategy(new Instances());
        for (JdkValues.Value<?> value : JdkValues.all()) {
            register(value.type(), value.serializer(), value.id());
        }
        register(Child.class, childSerializer, CHILD_ID);
    }

    /// Has the next object write its children to a map, under the names "0", "1" and so on.
    void writeChildren(SequencedMap<String, @Nullable Object> into) {
        written = into;
    }

    /// Has the next object read its children from a map, in the order of their names.
    void readChildren(Map<String, ? extends @Nullable Object> from) {
        children = from;
        read = 0;
    }

    /// {@return how many children were read}
    int childrenRead() {
        return read;
    }

    /// {@return whether an object is written in its place, and not a child}
    boolean isInPlace(Object object) {
        return getRegistration(object.getClass()).getSerializer() != childSerializer;
    }

    /// Kryo asks here for every class that it meets, whether it writes or reads.
    @Override
    @SuppressWarnings("rawtypes")
    public Registration getRegistration(Class type) {
        return registrations.computeIfAbsent(type, this::registrationOf);
    }

    private Registration registrationOf(Class<?> type) {
        Optional<Class<?>> value = JdkValues.typeOf(type).filter(known -> !JdkValues.isMutable(known));
        if (value.isPresent() || type.isPrimitive() || type == String.class) {
            return super.getRegistration(value.orElse(type));
        }
        Class<?> named = isConstantWithBody(type) ? type.getSuperclass() : type;
        if (classes.name(named).isEmpty()) {
            return new Registration(type, childSerializer, CHILD_ID);
        }
        return new Registration(named, named.isEnum() ? new EnumSerializer() : childSerializer,
                DefaultClassResolver.NAME);
    }

    private static boolean isConstantWithBody(Class<?> type) {
        return !type.isEnum() && Enum.class.isAssignableFrom(type) && type != Enum.class;
    }

    private final class ChildSerializer extends Serializer<Object> {
        @Override
        public void write(Kryo kryo, Output out, Object child) {
            written.put(Integer.toString(written.size()), child);
        }

        @Override
        public @Nullable Object read(Kryo kryo, Input in, Class<?> type) {
            String name = Integer.toString(read);
            if (!children.containsKey(name)) {
                throw new KryoException("the child " + name + " is missing");
            }
            read++;
            return children.get(name);
        }
    }

    /// By name, as the order of constants may change.
    private static final class EnumSerializer extends ImmutableSerializer<Enum<?>> {
        @Override
        public void write(Kryo kryo, Output out, Enum<?> constant) {
            out.writeString(constant.name());
        }

        @Override
        public Enum<?> read(Kryo kryo, Input in, Class<? extends Enum<?>> type) {
            String name = in.readString();
            return Arrays.stream(type.getEnumConstants()).filter(constant -> constant.name().equals(name)).findFirst()
                    .orElseThrow(() -> ObjectFaults.changed(
                            "has the constant " + FormatException.quote(String.valueOf(name)) + ", which "
                                    + type.getName() + " does not have",
                            "Add it to the enum, or open the file with the enum that saved it"));
        }
    }

    /// Writes registered classes by their names, and never looks for a class elsewhere.
    private static final class Names extends DefaultClassResolver {
        private final StateClasses classes;

        Names(StateClasses classes) {
            this.classes = classes;
        }

        @Override
        @SuppressWarnings("rawtypes")
        protected void writeName(Output out, Class type, Registration registration) {
            out.writeByte(NAME + 2);
            out.writeString(classes.name(registration.getType()).orElseThrow());
        }

        @Override
        protected Registration readName(Input in) {
            String name = String.valueOf(in.readString());
            return classes.type(name).map(kryo::getRegistration).orElseThrow(() -> ObjectFaults.unknown(name));
        }
    }

    /// Makes objects by their constructor without parameters, so that a field that is not in the file has the value
    /// that the class gives it. Without such a constructor none is called.
    private static final class Instances implements InstantiatorStrategy {
        @Override
        public <T> ObjectInstantiator<T> newInstantiatorOf(Class<T> type) {
            try {
                Constructor<T> constructor = type.getDeclaredConstructor();
                constructor.setAccessible(true);
                return () -> newInstance(constructor);
            } catch (NoSuchMethodException _) {
                return new StdInstantiatorStrategy().newInstantiatorOf(type);
            }
        }

        private static <T> T newInstance(Constructor<T> constructor) {
            try {
                return constructor.newInstance();
            } catch (InvocationTargetException e) {
                throw new KryoException(e.getCause());
            } catch (ReflectiveOperationException e) {
                throw new KryoException(e);
            }
        }
    }
}
