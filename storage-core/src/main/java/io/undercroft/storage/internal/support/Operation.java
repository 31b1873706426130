package io.undercroft.storage.internal.support;

import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import jdk.jfr.AnnotationElement;
import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Event;
import jdk.jfr.EventFactory;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.ValueDescriptor;
import org.jspecify.annotations.Nullable;

/// The operations that JDK Flight Recorder records, each as an event `io.undercroft.NAME` with the fields `name`, a
/// file, a URI or a name in shared memory, and `bytes`. One that throws an exception is not recorded.
///
/// Until a recording is started in the JVM, the only class of JFR that is loaded is the one that says so.
public enum Operation {
    /// A file, in a file system or a store, is opened. Bytes: its size.
    OPEN("Open"),
    /// The bytes of a storage are needed for the first time: they are mapped, or else read, or copied to a device.
    /// Bytes: the size of the storage.
    MAP("Map"),
    /// Bytes of a file in a store are requested. Bytes: their number.
    FETCH("Fetch"),
    /// The bytes of a storage are decompressed or converted. Bytes: the size of the storage.
    DECODE("Decode"),
    /// A file is compared with its checksums. Bytes: its size.
    VERIFY("Verify"),
    /// A state is written to files of its own. Bytes: their size.
    SAVE("Save"),
    /// A snapshot is added to a file. Bytes: what was written for storages.
    COMMIT("Commit"),
    /// A state is written to shared memory. Bytes: the size of the memory.
    PUBLISH("Publish"),
    /// Shared memory of another process is mapped. Bytes: its size.
    ATTACH("Attach"),
    /// A follower attaches a version that replaces another one. Bytes: the size of its memory.
    FOLLOW("Follow");

    private static final boolean IS_AVAILABLE = isAvailable();

    private final String event;

    Operation(String event) {
        this.event = event;
    }

    private static boolean isAvailable() {
        // A program of modules has it if one of them, or the command line, requires it.
        Module jfr = ModuleLayer.boot().findModule("jdk.jfr").orElse(null);
        return jfr != null && Operation.class.getModule().canRead(jfr);
    }

    /// {@return the measurement of an operation that begins now}
    public Timing begin() {
        return IS_AVAILABLE && FlightRecorder.isInitialized() ? Recorder.begin(this) : Timing.NONE;
    }

    /// The measurement of an operation.
    public static class Timing {
        private static final Timing NONE = new Timing();

        /// Records the operation, which has succeeded.
        ///
        /// @param name what it was done with, if that has a name
        /// @param nbytes the number of bytes
        public void end(@Nullable Object name, long nbytes) {}
    }

    /// What refers to classes of JFR.
    private static final class Recorder extends Timing {
        private static final Map<Operation, EventFactory> EVENTS = events();

        private final Event event;

        private Recorder(Event event) {
            this.event = event;
        }

        static Timing begin(Operation operation) {
            Event event = Objects.requireNonNull(EVENTS.get(operation)).newEvent();
            event.begin();
            return new Recorder(event);
        }

        private static Map<Operation, EventFactory> events() {
            Map<Operation, EventFactory> events = new EnumMap<>(Operation.class);
            for (Operation operation : values()) {
                events.put(operation, event(operation));
            }
            return events;
        }

        private static EventFactory event(Operation operation) {
            AnnotationElement bytes = new AnnotationElement(DataAmount.class, DataAmount.BYTES);
            return EventFactory.create(
                    List.of(new AnnotationElement(Name.class, "io.undercroft." + operation.event),
                            label(operation.event),
                            new AnnotationElement(Category.class, new String[]{"Undercroft"})),
                    List.of(new ValueDescriptor(String.class, "name", List.of(label("Name"))),
                            new ValueDescriptor(long.class, "bytes", List.of(label("Bytes"), bytes))));
        }

        private static AnnotationElement label(String text) {
            return new AnnotationElement(Label.class, text);
        }

        @Override
        public void end(@Nullable Object name, long nbytes) {
            event.end();
            if (event.shouldCommit()) {
                event.set(0, name == null ? "" : name.toString());
                event.set(1, nbytes);
                event.commit();
            }
        }
    }
}
