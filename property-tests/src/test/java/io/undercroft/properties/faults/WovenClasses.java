package io.undercroft.properties.faults;

import static java.lang.constant.ConstantDescs.CD_String;
import static java.lang.constant.ConstantDescs.CD_int;
import static java.lang.constant.ConstantDescs.CD_long;
import static java.lang.constant.ConstantDescs.CD_void;

import io.undercroft.properties.ChangedClasses;
import java.io.IOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.CodeElement;
import java.lang.classfile.CodeTransform;
import java.lang.classfile.MethodModel;
import java.lang.classfile.MethodTransform;
import java.lang.classfile.TypeKind;
import java.lang.classfile.instruction.InvokeDynamicInstruction;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.classfile.instruction.NewPrimitiveArrayInstruction;
import java.lang.classfile.instruction.ReturnInstruction;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.DirectMethodHandleDesc;
import java.lang.constant.MethodTypeDesc;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodType;
import java.lang.reflect.Executable;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

/// Loads this project's classes another time, and in those of the libraries lets [FaultPoints] see every call that the
/// system may refuse: every method of the JDK that is declared to throw an [IOException], every function of the C
/// library, native memory, and arrays of primitives.
///
/// So the libraries need no interface for faults, and a call that is added to them is seen too. What the JDK does
/// inside of its methods is not seen, nor what static initializers call, which run once in a process.
final class WovenClasses extends ChangedClasses {
    private static final String OURS = "io.undercroft.";
    /// Reports are made of these by callers of other loaders.
    private static final String REPORTS = OURS + "benchmarks.";
    private static final Set<String> LIBRARIES = Set.of("format", "storage", "mmap", "serializer", "interop");
    private static final ClassDesc POINTS = ClassDesc.of(FaultPoints.class.getName());
    private static final MethodTypeDesc SITE = MethodTypeDesc.of(CD_void, CD_String);
    private static final ClassDesc NUMBERS = CD_long.arrayType();
    private static final ClassDesc FUNCTION = ClassDesc.of("io.undercroft.mmap.internal.NativeFunction");
    private static final ClassDesc LIBC = ClassDesc.of("io.undercroft.mmap.internal.Libc");
    private static final ClassDesc ERRNO = ClassDesc.of("io.undercroft.mmap.internal.ErrnoException");
    private static final ClassDesc CHANNEL = FileChannel.class.describeConstable().orElseThrow();
    private static final MethodTypeDesc TRANSFER = MethodTypeDesc.of(CD_int,
            ByteBuffer.class.describeConstable().orElseThrow(), CD_long);
    private static final MethodTypeDesc CALL_ONCE = MethodTypeDesc.of(CD_long,
            MemorySegment.class.describeConstable().orElseThrow(),
            MemorySegment.class.describeConstable().orElseThrow(), NUMBERS);
    private static final Set<String> ARENAS = Set.of("ofShared", "ofConfined");
    private static final Set<String> TRANSFERS = Set.of("read", "write");
    private static final Set<String> RELEASING = Set.of("close", "release");
    private static final Set<String> ALLOCATORS = Set.of("java/lang/foreign/Arena",
            "java/lang/foreign/SegmentAllocator", "java/nio/ByteBuffer");

    private final Map<String, Boolean> throwing = new ConcurrentHashMap<>();
    private final Set<String> unseen = new TreeSet<>();

    WovenClasses() {
        super("woven", WovenClasses.class.getClassLoader());
    }

    /// {@return references to methods that may fail, which are called by the JDK and so not seen}
    Set<String> unseen() {
        return unseen;
    }

    @Override
    protected boolean isShared(String name) {
        return name.startsWith(REPORTS);
    }

    @Override
    protected byte[] changed(String name, byte[] file, ClassFile classFile) {
        return LIBRARIES.contains(name.split("\\.", 4)[2]) ? woven(file, classFile) : file;
    }

    private byte[] woven(byte[] file, ClassFile classFile) {
        ClassModel model = classFile.parse(file);
        return classFile.transformClass(model, (builder, element) -> {
            if (element instanceof MethodModel method && !method.methodName().equalsString("<clinit>")) {
                builder.transformMethod(method, MethodTransform.transformingCode(new Weaver(model, method)));
            } else {
                builder.with(element);
            }
        });
    }

    /// Weaves the code of one method.
    private final class Weaver implements CodeTransform {
        private final boolean isFunction;
        /// Whether it is of the class of these functions, which takes some words for each call. If there were none, no
        /// descriptor could be closed.
        private final boolean isOfFunctions;

        /// Whether it is of the class that calls the functions, with arrays of their arguments.
        private final boolean isLibc;

        Weaver(ClassModel model, MethodModel method) {
            this.isLibc = model.thisClass().asSymbol().equals(LIBC);
            this.isOfFunctions = model.thisClass().asSymbol().equals(FUNCTION);
            this.isFunction = isOfFunctions && method.methodName().equalsString("callOnce")
                    && method.methodTypeSymbol().equals(CALL_ONCE);
        }

        @Override
        public void atStart(CodeBuilder code) {
            if (isFunction) {
                int errno = code.allocateLocal(TypeKind.INT);
                describe(code).invokestatic(POINTS, "nativeCall", MethodTypeDesc.of(CD_int, CD_String, NUMBERS))
                        .istore(errno).iload(errno)
                        .ifThen(failing -> failing.new_(ERRNO).dup().aload(0)
                                .invokevirtual(FUNCTION, "toString", MethodTypeDesc.of(CD_String)).iload(errno)
                                .invokespecial(ERRNO, ConstantDescs.INIT_NAME,
                                        MethodTypeDesc.of(CD_void, CD_String, CD_int))
                                .athrow());
            }
        }

        /// Pushes the declaration of the function and its arguments.
        private static CodeBuilder describe(CodeBuilder code) {
            return code.aload(0).invokevirtual(FUNCTION, "toString", MethodTypeDesc.of(CD_String)).aload(3);
        }

        @Override
        public void accept(CodeBuilder code, CodeElement element) {
            switch (element) {
                case InvokeInstruction call -> call(code, call);
                case InvokeDynamicInstruction dynamic -> {
                    dynamic.bootstrapArgs().stream().filter(DirectMethodHandleDesc.class::isInstance)
                            .map(DirectMethodHandleDesc.class::cast)
                            // Fields have a type there.
                            .filter(handle -> handle.lookupDescriptor().startsWith("("))
                            .filter(handle -> mayFail(handle.owner(), handle.methodName(),
                                    MethodTypeDesc.ofDescriptor(handle.lookupDescriptor())))
                            .forEach(handle -> unseen.add(handle.owner().displayName() + "." + handle.methodName()));
                    code.with(element);
                }
                case NewPrimitiveArrayInstruction _ when !isOfFunctions && !isLibc ->
                    see(code, "memory", "an array").with(element);
                case ReturnInstruction _ when isFunction -> describe(code.dup2()).invokestatic(POINTS, "nativeResult",
                        MethodTypeDesc.of(CD_void, CD_long, CD_String, NUMBERS)).with(element);
                default -> code.with(element);
            }
        }

        private void call(CodeBuilder code, InvokeInstruction call) {
            String name = call.name().stringValue();
            String owner = call.owner().asInternalName();
            String site = owner.substring(owner.lastIndexOf('/') + 1) + "." + name;
            MethodTypeDesc type = call.typeSymbol();
            boolean isAllocating = (owner.equals("java/util/Arrays") && name.startsWith("copyOf"))
                    || (ALLOCATORS.contains(owner) && name.startsWith("allocate"))
                    || (owner.equals("java/lang/Thread") && name.equals("start"));
            if (owner.equals("java/lang/foreign/Arena") && ARENAS.contains(name)) {
                code.invokestatic(POINTS, name, type);
            } else if (owner.equals("java/nio/channels/FileChannel") && TRANSFERS.contains(name)
                    && type.equals(TRANSFER)) {
                code.invokestatic(POINTS, name, type.insertParameterTypes(0, CHANNEL));
            } else if (isAllocating && !isOfFunctions) {
                see(code, "memory", site).with(call);
            } else if (!mayFail(call.owner().asSymbol(), name, type)) {
                code.with(call);
            } else if (RELEASING.contains(name)) {
                see(code.with(call), "released", site);
            } else {
                if (name.equals("map")) {
                    see(code, "memory", site);
                }
                see(code, "call", site).with(call);
            }
        }

        private static CodeBuilder see(CodeBuilder code, String point, String site) {
            return code.ldc(site).invokestatic(POINTS, point, SITE);
        }
    }

    /// {@return whether it is a method or constructor of the JDK that is declared to throw an [IOException]}
    private boolean mayFail(ClassDesc owner, String name, MethodTypeDesc type) {
        String id = owner.descriptorString() + name + type.descriptorString();
        return owner.isClassOrInterface() && owner.descriptorString().startsWith("Ljava/")
                && throwing.computeIfAbsent(id, _ -> isDeclared(owner, name, type));
    }

    private static boolean isDeclared(ClassDesc owner, String name, MethodTypeDesc type) {
        try {
            String descriptor = owner.descriptorString();
            Class<?> declaring = Class.forName(descriptor.substring(1, descriptor.length() - 1).replace('/', '.'),
                    false, ClassLoader.getPlatformClassLoader());
            Class<?>[] parameters = MethodType.fromMethodDescriptorString(type.descriptorString(),
                    ClassLoader.getPlatformClassLoader()).parameterArray();
            Stream<? extends Executable> methods = name.equals(ConstantDescs.INIT_NAME)
                    ? Arrays.stream(declaring.getDeclaredConstructors())
                    : Stream.of(declaring.getMethods(), declaring.getDeclaredMethods()).flatMap(Arrays::stream)
                            .filter(method -> method.getName().equals(name));
            // A bridge to StringBuilder.append is declared as that of every Appendable.
            return methods.filter(method -> !method.isSynthetic())
                    .filter(method -> Arrays.equals(method.getParameterTypes(), parameters))
                    .flatMap(method -> Arrays.stream(method.getExceptionTypes()))
                    .anyMatch(IOException.class::isAssignableFrom);
        } catch (ClassNotFoundException | TypeNotPresentException _) {
            return false;
        }
    }
}
