package io.undercroft.properties.torch7;

import java.nio.file.Path;
import java.util.List;

/// Lua with the module `torch`: a process of its own, or part of one.
final class LuaProcess implements AutoCloseable {
    private final LuaInterpreter interpreter = new LuaInterpreter();
    private final LuaBasics basics = new LuaBasics();
    private final LuaHeap heap = new LuaHeap();

    /// A process whose working directory is the given one.
    LuaProcess(Path directory) {
        basics.defineIn(interpreter);
        define("torch", TorchModule.in(directory, heap));
        define("collectgarbage", LuaFunction.does(_ -> heap.collectAllBut(interpreter.reachable())));
    }

    /// Carries out a line and prints what it prints, as `luajit -e` does.
    @SuppressWarnings("SystemOut")
    public static void main(String[] line) {
        try (LuaProcess process = new LuaProcess(Path.of(""))) {
            process.run(line[0]);
            System.out.print(process.takePrinted());
        }
    }

    void define(String name, Object value) {
        interpreter.define(name, value);
    }

    /// Carries out a line.
    ///
    /// @return its values
    List<Object> run(String line) {
        return interpreter.run(line);
    }

    /// {@return what was printed since this was last asked}
    String takePrinted() {
        return basics.takePrinted();
    }

    /// Releases all storages, as Lua does at its end.
    @Override
    public void close() {
        heap.collectAllBut(List.of());
    }
}
