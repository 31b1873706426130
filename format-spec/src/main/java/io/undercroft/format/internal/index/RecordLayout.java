package io.undercroft.format.internal.index;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/// The fields of a record in their order, without gaps. [Records] has the layouts of the format.
public final class RecordLayout {
    /// The place of a text, in each record that begins with one.
    public static final Field TEXT = new Field("text offset", 0, Long.BYTES);
    /// The length of that text in bytes.
    public static final Field TEXT_LENGTH = new Field("text length", TEXT.end(), Integer.BYTES);

    private final List<Field> fields = new ArrayList<>();

    /// A record without fields. Those that are added later are part of it, so a layout is complete when the class that
    /// has the constants of its fields is initialized.
    RecordLayout() {}

    /// A record that begins with the place and length of a text.
    ///
    /// @param text the name of the text
    RecordLayout(String text) {
        field(text + ' ' + TEXT.name(), TEXT.size());
        field(TEXT_LENGTH.name(), TEXT_LENGTH.size());
    }

    /// Adds a field after the last one.
    ///
    /// @param name its name in `SPEC.md`
    /// @param size its size in bytes
    Field field(String name, int size) {
        Field field = new Field(name, size(), size);
        fields.add(field);
        return field;
    }

    /// {@return the fields in their order}
    public List<Field> fields() {
        return Collections.unmodifiableList(fields);
    }

    /// {@return the size of the record in bytes}
    public int size() {
        return fields.isEmpty() ? 0 : fields.getLast().end();
    }
}
