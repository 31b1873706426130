package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.undercroft.interop.internal.ZipDirectory;
import io.undercroft.interop.internal.ZipRecord;
import io.undercroft.serializer.spi.ReadBudget;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/// What the code of a TorchScript archive declares of the classes of its modules: which attributes are parameters and
/// which are buffers. The code is text that PyTorch prints in one form only, one declaration in a line; no other line
/// of it is looked at.
///
/// Made for one archive and one thread.
final class ScriptClasses {
    /// The prefix of the names of all classes of an archive.
    static final String ROOT = "__torch__.";
    /// Classes that are written in C++, of which there is no code.
    private static final String NATIVE = ROOT + "torch.classes.";
    /// The longest file of code that is read, in bytes.
    private static final long LONGEST = 1L << 24;
    private static final Pattern CLASS = Pattern.compile("class (\\w+)\\((\\w*)\\):");
    private static final Pattern SLOTS = Pattern.compile(" +__(parameters|buffers)__ = \\[(.*)]");
    private static final Pattern QUOTED = Pattern.compile("\"([^\"\\\\]*)\"");

    private final ZipDirectory zip;
    private final String folder;
    private final ReadBudget budget;
    private final Map<String, Map<String, Declaration>> files = new HashMap<>();

    /// A class.
    private static final class Declaration {
        private final boolean isModule;
        private final Set<String> parameters = new HashSet<>();
        /// Null if the code does not say, as before PyTorch 1.6: all tensors but the parameters were buffers.
        private @Nullable Set<String> buffers;

        Declaration(boolean isModule) {
            this.isModule = isModule;
        }
    }

    /// @param zip the archive
    /// @param folder its only folder
    /// @param budget what reading the code may cost
    ScriptClasses(ZipDirectory zip, String folder, ReadBudget budget) {
        this.zip = zip;
        this.folder = folder;
        this.budget = budget;
    }

    /// {@return whether a class is one of modules} One without code is, unless it is written in C++.
    ///
    /// @param name its full name
    boolean isModule(String name) {
        Declaration known = find(name);
        return known == null ? name.startsWith(ROOT) && !name.startsWith(NATIVE) : known.isModule;
    }

    /// {@return whether an attribute that is a tensor is a parameter} Of a class without code none is.
    ///
    /// @param name the full name of the class
    /// @param attribute the attribute
    boolean isParameter(String name, String attribute) {
        Declaration known = find(name);
        return known != null && known.parameters.contains(attribute);
    }

    /// {@return whether an attribute that is a tensor is a buffer} Of a class without code all are.
    ///
    /// @param name the full name of the class
    /// @param attribute the attribute
    boolean isBuffer(String name, String attribute) {
        Declaration known = find(name);
        return known == null || (known.buffers == null
                ? !known.parameters.contains(attribute)
                : known.buffers.contains(attribute));
    }

    private @Nullable Declaration find(String name) {
        int dot = name.lastIndexOf('.');
        return dot < 0 ? null : file(name.substring(0, dot)).get(name.substring(dot + 1));
    }

    private Map<String, Declaration> file(String module) {
        Map<String, Declaration> known = files.get(module);
        if (known == null) {
            budget.takeMemory(2 * ReadBudget.CONTAINER);
            known = read(folder + "/code/" + module.replace('.', '/') + ".py");
            files.put(module, known);
        }
        return known;
    }

    private Map<String, Declaration> read(String name) {
        ZipRecord record = zip.find(name).orElse(null);
        if (record == null || record.size() > LONGEST) {
            return Map.of();
        }
        // The bytes, the text and its lines, which may be short.
        budget.takeMemory(32 * record.size());
        try (Arena arena = Arena.ofConfined()) {
            return declarations(new String(zip.read(record, arena).toArray(ValueLayout.JAVA_BYTE), UTF_8));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Map<String, Declaration> declarations(String code) {
        Map<String, Declaration> classes = new HashMap<>();
        Declaration current = null;
        for (String line : code.lines().toList()) {
            if (!line.startsWith(" ") && !line.isEmpty()) {
                Matcher begin = CLASS.matcher(line);
                current = begin.matches() ? new Declaration(begin.group(2).equals("Module")) : null;
                if (current != null) {
                    budget.takeMemory(2 * ReadBudget.CONTAINER);
                    classes.putIfAbsent(begin.group(1), current);
                }
            } else if (current != null) {
                Matcher slots = SLOTS.matcher(line);
                if (slots.matches()) {
                    declare(current, slots.group(1).equals("buffers"), slots.group(2));
                }
            }
        }
        return classes;
    }

    private void declare(Declaration type, boolean areBuffers, String list) {
        Set<String> names = areBuffers ? new HashSet<>() : type.parameters;
        for (Matcher name = QUOTED.matcher(list); name.find();) {
            budget.takeMemory(ReadBudget.ENTRY);
            budget.takeText(name.group(1).length());
            names.add(name.group(1));
        }
        if (areBuffers) {
            type.buffers = names;
        }
    }
}
