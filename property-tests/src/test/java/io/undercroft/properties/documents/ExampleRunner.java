package io.undercroft.properties.documents;

import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import javax.tools.ToolProvider;

/// Compiles source files whose class is not declared, and runs the `main` of each, as `java FILE` does, but all in this
/// process.
final class ExampleRunner {
    static final String END = "~~ end of program ~~";

    private ExampleRunner() {}

    public static void main(String... files) throws Exception {
        for (String file : files) {
            run(file);
            System.out.println(END);
        }
    }

    private static void run(String file) throws Exception {
        Path classes = Files.createTempDirectory(Path.of(""), "classes");
        List<String> arguments = new ArrayList<>(List.of("-d", classes.toString(), "-proc:none", file));
        if (ToolProvider.getSystemJavaCompiler().run(null, System.out, System.out,
                arguments.toArray(String[]::new)) != 0) {
            throw new IOException(file + " does not compile");
        }
        String name = file.substring(0, file.lastIndexOf('.'));
        try (URLClassLoader loader = new URLClassLoader(new URL[]{classes.toUri().toURL()})) {
            Class<?> type = loader.loadClass(name);
            Constructor<?> constructor = type.getDeclaredConstructor();
            constructor.setAccessible(true);
            Method main = type.getDeclaredMethod("main");
            main.setAccessible(true);
            main.invoke(constructor.newInstance());
        }
    }
}
