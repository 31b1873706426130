package io.undercroft.cli.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class TableTest {
    @Test
    void columnsAreAsWideAsTheirWidestCell() {
        Table table = new Table(Table.left("name"), Table.right("n"), Table.left("notes"));
        table.row("a", "1", "");
        table.row("longer", "100", "x");

        assertThat(print(table)).isEqualTo("""
                name      n  notes
                a         1
                longer  100  x
                """);
    }

    @Test
    void aColumnWithoutAnythingInItIsLeftOut() {
        Table table = new Table(Table.left("name"), Table.left("notes"), Table.right("n"));
        table.row("a", "", "1");

        assertThat(print(table)).isEqualTo("""
                name  n
                a     1
                """);
    }

    @Test
    void aRowNeedsACellForEachColumn() {
        assertThatIllegalArgumentException().isThrownBy(() -> new Table(Table.left("a")).row("1", "2"));
    }

    @Test
    void namesLoseTheirMiddleOnANarrowTerminalAndNumbersStayWhole() {
        Table table = new Table(Table.left("name"), Table.whole("shape"), Table.right("offset"));
        table.row("model/transformer.h.10.attn.c_attn.weight", "[2304, 768]", "123456789");
        table.row("b", "[]", "0");

        assertThat(print(table, 46)).isEqualTo("""
                name                    shape           offset
                model/tran…attn.weight  [2304, 768]  123456789
                b                       []                   0
                """);
        assertThat(print(table, 30)).isEqualTo("""
                name              shape
                     offset
                model/t…n.weight  [2304, 768]
                  123456789
                b                 []
                          0
                """);
    }

    private static String print(Table table) {
        return print(table, Integer.MAX_VALUE);
    }

    private static String print(Table table, int width) {
        ByteArrayOutputStream text = new ByteArrayOutputStream();
        try (TextOutput out = new TextOutput(text, width)) {
            table.print(out);
        }
        return text.toString(StandardCharsets.UTF_8);
    }
}
