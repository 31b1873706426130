package io.undercroft.interop.torch;

import java.util.List;
import java.util.Set;

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
    /// What of Python's own names makes a value and does nothing else.
    private static final Set<String> BUILTINS = Set.of("object", "slice", "range", "xrange", "int", "float", "str",
            "bool", "list", "dict", "tuple", "bytes", "bytearray", "set", "frozenset", "complex", "memoryview",
            "type", "property", "staticmethod", "classmethod", "super", "Ellipsis", "NotImplemented", "NoneType", "abs",
            "min", "max", "sum", "len", "round", "pow", "sorted", "reversed", "zip", "enumerate");
    private static final List<String> EXCEPTIONS = List.of("Error", "Exception", "Warning", "Exit", "Interrupt",
            "Iteration");
    /// What joblib before 0.10 writes for an array whose elements are in another file. Its constructor opens nothing.
    private static final Set<String> WRAPPERS = Set.of("joblib.numpy_pickle.NDArrayWrapper",
            "joblib.numpy_pickle.ZNDArrayWrapper");
    private static final String OWN = "builtins.";
    /// Modules that other modules import, so that they are found there as if they were classes: `torch:os.system`.
    private static final Set<String> IMPORTED = Set.of("os", "sys", "posix", "nt", "subprocess", "builtins",
            "__builtin__", "importlib", "shutil", "socket", "ctypes", "runpy", "pty", "pickle", "_pickle", "marshal");

    private DangerousNames() {}

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
