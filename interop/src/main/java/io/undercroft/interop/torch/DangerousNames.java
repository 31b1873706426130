package io.undercroft.interop.torch;

import io.undercroft.serializer.internal.tree.PythonObjects;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.TypedMap;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// Names of Python that no state needs, and with which a pickle runs commands, runs code, loads other files or reaches
/// into the program that loads it. The list is not complete, as any class of any package may do so: it tells an attack
/// from a model, and nothing is run for names that are not in it either.
final class DangerousNames {
    /// Modules of which every name is dangerous, and those below them.
    private static final Set<String> MODULES = Set.of("os", "posix", "nt", "subprocess", "_posixsubprocess", "commands",
            "pty", "sys", "shutil", "socket", "_socket", "ssl", "http", "httplib", "ftplib", "smtplib", "telnetlib",
            "poplib", "imaplib", "urllib", "urllib2", "requests", "aiohttp", "webbrowser", "runpy", "code", "codeop",
            "importlib", "imp", "pkgutil", "zipimport", "pip", "ensurepip", "venv", "ctypes", "_ctypes", "cffi",
            "signal", "_signal", "multiprocessing", "concurrent", "asyncio", "_thread", "pdb", "bdb", "cProfile",
            "profile", "trace", "timeit", "doctest", "idlelib", "lib2to3", "pydoc", "marshal", "pickle", "_pickle",
            "cPickle", "shelve", "dill", "cloudpickle", "joblib", "platform", "sqlite3", "logging.config", "torch.hub",
            "torch.jit", "torch.package", "torch.serialization", "torch.utils.model_zoo", "torch.utils.cpp_extension",
            "torch.utils._config_module", "torch.utils.bottleneck", "torch.utils.collect_env", "torch.distributed.rpc",
            "torch._inductor", "torch._dynamo.guards", "torch.fx.experimental.symbolic_shapes", "numpy.testing",
            "numpy.f2py", "numpy.distutils", "setuptools", "distutils", "paramiko", "pexpect", "fabric");
    /// Single names of other modules.
    private static final Set<String> NAMES = Set.of("types.CodeType", "types.FunctionType", "types.LambdaType",
            "types.ModuleType", "operator.attrgetter", "operator.methodcaller", "_operator.attrgetter",
            "_operator.methodcaller", "io.open", "io.open_code", "io.FileIO", "_io.open", "_io.open_code", "_io.FileIO",
            "torch.load", "torch.save", "torch.compile", "torch.storage._load_from_bytes", "numpy.load",
            "numpy.fromfile", "numpy.save", "pandas.eval", "pandas.read_pickle", "copyreg.add_extension",
            "torch.utils.data.datapipes.utils.decoder.basichandlers");
    /// Names of Python's own that make a value and do nothing else.
    private static final Set<String> BUILTINS = Set.of("object", "slice", "range", "xrange", "int", "float", "str",
            "bool", "list", "dict", "tuple", "bytes", "bytearray", "set", "frozenset", "complex", "memoryview",
            "type", "property", "staticmethod", "classmethod", "super", "Ellipsis", "NotImplemented", "NoneType", "abs",
            "min", "max", "sum", "len", "round", "pow", "sorted", "reversed", "zip", "enumerate", "__main__");
    private static final List<String> EXCEPTIONS = List.of("Error", "Exception", "Warning", "Exit", "Interrupt",
            "Iteration");
    /// The class that joblib before 0.10 writes for an array whose elements are in another file. Its constructor opens
    /// nothing.
    private static final Set<String> WRAPPERS = Set.of("joblib.numpy_pickle.NDArrayWrapper",
            "joblib.numpy_pickle.ZNDArrayWrapper");
    private static final String OWN = "builtins.";
    private static final String CLOUDPICKLE = "cloudpickle.cloudpickle.";
    /// Modules that other modules import, so that they are found there as if they were classes: `torch:os.system`.
    private static final Set<String> IMPORTED = Set.of("os", "sys", "posix", "nt", "subprocess", "builtins",
            "__builtin__", "importlib", "shutil", "socket", "ctypes", "runpy", "pty", "pickle", "_pickle", "marshal");

    /// Calls of dill and cloudpickle that make functions, classes and what belongs to them, of code in the pickle, and
    /// do not run that code.
    private static final Set<String> CODE = Set.of("dill._dill._create_function", "dill._dill._create_type",
            "dill._dill._load_type", "dill._dill._create_cell", "dill._dill._create_array",
            "dill._dill._create_namedtuple", "dill._dill._create_ftype", "dill._dill._create_lock",
            "dill._dill._create_rlock", "dill._dill._create_dtypemeta", "dill._dill._create_typing_tuple",
            "dill._dill._setitems", CLOUDPICKLE + "_make_function", CLOUDPICKLE + "_builtin_type",
            CLOUDPICKLE + "_make_skeleton_class", CLOUDPICKLE + "_make_skeleton_enum",
            CLOUDPICKLE + "_make_typevar", CLOUDPICKLE + "_make_cell", CLOUDPICKLE + "_make_empty_cell",
            CLOUDPICKLE + "_function_setstate", CLOUDPICKLE + "_class_setstate");
    /// The module of dill.
    static final Symbol DILL = new Symbol("dill._dill");
    private static final String GETATTR = "builtins.getattr";
    /// With these arguments, `getattr` finds the function by which dill fills the cells of closures.
    static final Tuple OF_SETTER = Tuple.of(DILL, "_setattr", new Symbol("builtins.setattr"));
    /// Calls that make something that can be called, and calls of which make a type of Python.
    private static final Set<String> CALLABLE = Set.of(GETATTR, "dill._dill._get_attr",
            "dill._dill._create_function", CLOUDPICKLE + "_make_function");
    /// A call with arguments that are given later. By this and the next name, protocol 2 makes objects of classes that
    /// are made with keywords.
    private static final String PARTIAL = "functools.partial";
    private static final String NEW = "__new__";
    /// The maximum depth of nested calls.
    private static final int MOST_PARTIAL = 16;
    private static final Set<String> TYPES = Set.of("dill._dill._load_type", CLOUDPICKLE + "_builtin_type");
    /// Names that the code of harmless functions in a state does not use.
    private static final Set<String> IN_CODE = Set.of("os", "subprocess", "posix", "socket", "ctypes", "shutil",
            "importlib", "runpy", "pty", "system", "popen", "Popen", "exec", "eval", "compile", "__import__",
            "__builtins__", "__subclasses__", "__globals__");
    private static final Set<String> DESCRIPTIVE = Set.of("__doc__", "__name__", "__qualname__", "__module__",
            "__annotations__");

    private DangerousNames() {}

    /// {@return whether a call of a dangerous name does nothing that other calls of it may do: it finds a method of an
    /// object, as pickles of bound methods do, or makes a function of code, as dill and cloudpickle do}
    ///
    /// @param function the full name of the function
    /// @param arguments what it is called with
    static boolean isOrdinary(String function, Tuple arguments) {
        Object first = arguments.isEmpty() ? null : arguments.getFirst();
        return switch (function) {
            case GETATTR, "dill._dill._get_attr" ->
                arguments.size() == 2 && arguments.get(1) instanceof String name
                        && (first instanceof Symbol type
                                ? name.equals(NEW) && !contains(type.name())
                                : !name.startsWith("__") && isAttribute(name));
            case "builtins.setattr" -> arguments.size() == 3 && PythonObjects.is(first)
                    && arguments.get(1) instanceof String name
                    && (DESCRIPTIVE.contains(name) || (!name.startsWith("__") && isAttribute(name)));
            case "dill._dill._import_module", CLOUDPICKLE + "subimport" ->
                first instanceof String module && !contains(module + ".any");
            case "dill._dill._create_code" -> !isSuspicious(arguments);
            default -> CODE.contains(function);
        };
    }

    /// {@return whether a call finds the function by which dill fills the cells of closures: it is
    /// `getattr(dill._dill, '_setattr', setattr)`}
    ///
    /// @param function the full name of the function
    /// @param arguments what it is called with
    static boolean isSetter(String function, Tuple arguments) {
        return function.equals(GETATTR) && arguments.equals(OF_SETTER);
    }

    /// {@return whether an object is made by such a call}
    static boolean isSetter(TypedMap made) {
        return made.attributes().get(InertObject.ARGUMENTS) instanceof Tuple arguments && arguments.equals(OF_SETTER)
                && PythonObjects.is(made) && PythonObjects.className(made).equals(GETATTR);
    }

    /// {@return whether that function, called with arguments, fills a cell that dill has made}
    static boolean isCell(Tuple arguments) {
        return arguments.size() == 3 && PythonObjects.is(arguments.getFirst())
                && arguments.getFirst() instanceof TypedMap cell
                && PythonObjects.className(cell).equals("dill._dill._create_cell")
                && "cell_contents".equals(arguments.get(1));
    }

    private static boolean isAttribute(String name) {
        return name.indexOf('.') < 0 && !IMPORTED.contains(name);
    }

    /// {@return whether a call runs code that is in the pickle: of a method, or of a function that a call has made}
    ///
    /// @param callable the object that is called
    /// @param arguments what it is called with
    static boolean isRun(TypedMap callable, Tuple arguments) {
        TypedMap called = callable;
        for (int i = 0; i < MOST_PARTIAL; i++) {
            String made = PythonObjects.className(called);
            if (!made.equals(PARTIAL)) {
                boolean isNew = argument(called, 1) instanceof String name && name.equals(NEW);
                return (CALLABLE.contains(made) && !isNew) || (TYPES.contains(made) && isSuspicious(arguments));
            }
            Object inner = called.attributes().get(InertObject.STATE) instanceof Tuple state && !state.isEmpty()
                    ? state.getFirst()
                    : argument(called, 0);
            if (!PythonObjects.is(inner) || !(inner instanceof TypedMap next)) {
                return false;
            }
            called = next;
        }
        return true;
    }

    private static @Nullable Object argument(TypedMap object, int index) {
        return object.attributes().get(InertObject.ARGUMENTS) instanceof Tuple arguments && index < arguments.size()
                ? arguments.get(index)
                : null;
    }

    /// {@return whether the arguments that code is made of have names that it does not need}
    private static boolean isSuspicious(Tuple code) {
        return code.stream().anyMatch(each -> (each instanceof String text && IN_CODE.contains(text))
                || (each instanceof Tuple names
                        && names.stream().anyMatch(name -> name instanceof String text && IN_CODE.contains(text))));
    }

    /// {@return whether a name is dangerous}
    ///
    /// @param name the full name, as [ForeignNames] has it
    static boolean contains(String name) {
        if (WRAPPERS.contains(name)) {
            return false;
        }
        String plain = name.replace(ForeignNames.NESTED, '.');
        if (plain.startsWith(OWN) && !isHarmless(plain.substring(OWN.length()))) {
            return true;
        }
        for (int dot = plain.indexOf('.'); dot >= 0; dot = plain.indexOf('.', dot + 1)) {
            String start = plain.substring(0, dot);
            if (MODULES.contains(start) || NAMES.contains(start)) {
                return true;
            }
        }
        return NAMES.contains(plain) || isOfModule(name.substring(start(name)));
    }

    /// {@return where the name in the module starts}
    private static int start(String name) {
        int nested = name.indexOf(ForeignNames.NESTED);
        return 1 + (nested < 0 ? name.lastIndexOf('.') : nested);
    }

    /// {@return whether a name in a module leads to another module, or to what Python itself sets on a class}
    private static boolean isOfModule(String path) {
        String[] words = path.split("\\.", -1);
        for (int i = 0; i < words.length; i++) {
            if (IMPORTED.contains(words[i]) || (i > 0 && words[i].startsWith("__"))) {
                return true;
            }
        }
        return false;
    }

    private static boolean isHarmless(String own) {
        return BUILTINS.contains(own) || EXCEPTIONS.stream().anyMatch(own::endsWith);
    }
}
