package io.undercroft.properties;

import java.io.IOException;
import java.io.InputStream;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassHierarchyResolver;

/// Loads the classes of this project another time, with changed code.
public abstract class ChangedClasses extends ClassLoader {
    private static final String PROJECT = "io.undercroft.";

    private final ClassFile format;

    /// @param name the name of the loader, which stack traces show
    /// @param parent the loader of the classes as they are
    protected ChangedClasses(String name, ClassLoader parent) {
        super(name, parent);
        this.format = ClassFile.of(ClassFile.ClassHierarchyResolverOption
                .of(ClassHierarchyResolver.ofResourceParsing(parent).cached()));
    }

    /// {@return whether a class of the project is that of the parent}
    ///
    /// @param name its name
    protected abstract boolean isShared(String name);

    /// {@return the class file of a class of the project, changed}
    ///
    /// @param name its name
    /// @param file as it is
    /// @param classFile parses and transforms it
    protected abstract byte[] changed(String name, byte[] file, ClassFile classFile);

    @Override
    protected final Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (!name.startsWith(PROJECT) || isShared(name)) {
            return super.loadClass(name, resolve);
        }
        synchronized (getClassLoadingLock(name)) {
            Class<?> loaded = findLoadedClass(name);
            return loaded == null ? define(name) : loaded;
        }
    }

    private Class<?> define(String name) throws ClassNotFoundException {
        try (InputStream in = getParent().getResourceAsStream(name.replace('.', '/') + ".class")) {
            if (in == null) {
                throw new ClassNotFoundException(name);
            }
            byte[] file = changed(name, in.readAllBytes(), format);
            return defineClass(name, file, 0, file.length);
        } catch (IOException e) {
            throw new ClassNotFoundException(name, e);
        }
    }
}
