package io.undercroft.properties.damage;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.properties.ChangedClasses;
import io.undercroft.testsupport.Proc;
import java.io.IOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.CodeElement;
import java.lang.classfile.CodeTransform;
import java.lang.classfile.Label;
import java.lang.classfile.instruction.BranchInstruction;
import java.lang.classfile.instruction.LabelTarget;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;

/// The operations of this project's code: calls of methods and iterations of loops. Unlike time, their count does not
/// depend on the machine. The code that is counted is a second copy of the project's classes, in a class loader that
/// adds the counting; the code of the JDK and of libraries is not counted. Threads other than the caller's may be
/// counted too low.
public final class Operations {
    /// The lock of test classes that count operations: there is one count for all threads.
    public static final String LOCK = "the count of operations";

    private static final ClassDesc COUNTER = Operations.class.describeConstable().orElseThrow();
    private static final MethodTypeDesc COUNT = MethodTypeDesc.of(ConstantDescs.CD_void);
    private static final ClassLoader COUNTED = new Counted(Operations.class.getClassLoader());

    /// How many operations reading a file and reporting what is in it may take for each byte of the file, and at least.
    private static final long PER_BYTE = 64;
    private static final long AT_LEAST = 1 << 27;
    /// How many operations each byte of elements may take that is processed.
    private static final long PER_ELEMENT_BYTE = 8;

    private static long count;

    private Operations() {}

    /// Counts an operation. Called by the code that is counted.
    public static void count() {
        count++;
    }

    /// What a method returned, and how many operations that took.
    record Result(Object value, long operations) {}

    /// Calls a static method in the copy whose operations are counted.
    ///
    /// @param type the class of the method, which has one method of that name
    /// @param arguments objects of classes of the JDK, like what is returned
    static Result of(Class<?> type, String method, Object... arguments) throws IOException {
        Thread thread = Thread.currentThread();
        ClassLoader context = thread.getContextClassLoader();
        thread.setContextClassLoader(COUNTED);
        try {
            Method counted = Arrays.stream(COUNTED.loadClass(type.getName()).getDeclaredMethods())
                    .filter(each -> each.getName().equals(method)).findAny().orElseThrow();
            counted.setAccessible(true);
            long before = count;
            Object value = counted.invoke(null, arguments);
            return new Result(value, count - before);
        } catch (InvocationTargetException e) {
            throw new AssertionError("the copy of " + type.getName() + "." + method + " failed", e.getCause());
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        } finally {
            thread.setContextClassLoader(context);
        }
    }

    /// Calls a static method that reads a file, as [#of].
    ///
    /// @param file the file
    /// @param memory how many bytes the method may allocate on the heap
    /// @return what the method returned
    /// @throws AssertionError if that took more operations than the size of the file justifies, or more memory
    static Object bounded(Path file, long memory, Class<?> type, String method, Object... arguments)
            throws IOException {
        return bounded(file, memory, 0, type, method, arguments);
    }

    /// The same for a method that processes elements.
    ///
    /// @param elements how many bytes of elements it may process
    static Object bounded(Path file, long memory, long elements, Class<?> type, String method, Object... arguments)
            throws IOException {
        long before = Proc.allocatedByThisThread();
        Result result = of(type, method, arguments);
        if (Proc.allocatedByThisThread() - before >= memory) {
            // Once more without the classes that it may have loaded.
            before = Proc.allocatedByThisThread();
            result = of(type, method, arguments);
            assertThat(Proc.allocatedByThisThread() - before).as("bytes allocated on the heap").isLessThan(memory);
        }
        assertThat(result.operations).as("operations").isLessThan(
                AT_LEAST + PER_BYTE * Files.size(file) + PER_ELEMENT_BYTE * elements);
        return result.value;
    }

    /// Classes with calls of [#count].
    private static final class Counted extends ChangedClasses {
        Counted(ClassLoader parent) {
            super("counted", parent);
        }

        @Override
        protected boolean isShared(String name) {
            return name.equals(Operations.class.getName());
        }

        @Override
        protected byte[] changed(String name, byte[] file, ClassFile classFile) {
            return classFile.transformClass(classFile.parse(file),
                    ClassTransform.transformingMethodBodies(CodeTransform.ofStateful(Counting::new)));
        }
    }

    /// Counts at the start of a method and before each jump back.
    private static final class Counting implements CodeTransform {
        private final Set<Label> passed = new HashSet<>();

        @Override
        public void atStart(CodeBuilder code) {
            code.invokestatic(COUNTER, "count", COUNT);
        }

        @Override
        public void accept(CodeBuilder code, CodeElement element) {
            if (element instanceof LabelTarget target) {
                passed.add(target.label());
            } else if (element instanceof BranchInstruction jump && passed.contains(jump.target())) {
                code.invokestatic(COUNTER, "count", COUNT);
            }
            code.with(element);
        }
    }
}
