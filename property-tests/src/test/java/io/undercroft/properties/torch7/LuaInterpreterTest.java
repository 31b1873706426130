package io.undercroft.properties.torch7;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class LuaInterpreterTest {
    private final LuaInterpreter lua = new LuaInterpreter();
    private final LuaBasics basics = new LuaBasics();

    @BeforeEach
    void defineNames() {
        basics.defineIn(lua);
    }

    @ParameterizedTest
    @CsvSource(delimiter = ';', quoteCharacter = '`', textBlock = """
            1 + 2 * 3;            7
            2^3^2;                512
            -2^2;                 -4
            (1 + 2) * 3;          9
            10 - 4 - 3;           3
            2^53+1;               9007199254740992
            0x11223344;           287454020
            1e10;                 10000000000
            .5;                   0.5
            '1' + 1;              2
            0/0;                  nan
            -1/0;                 -inf
            -0.0;                 -0
            'a'..'b'..1;          "ab1"
            1 == 1, 'a' == 'b';   true | false
            nil == nil;           true
            [[say "so"]];         "say "so""
            "\\200\\0x\\n";       "\\xc8\\x00x\\x0a"
            '\\\\';               "\\x5c"
            {1, 2, nil, 4};       {[1]=1, [2]=2, [4]=4}
            #{1, 2};              2
            ({5, 6})[2];          6
            tostring(2.5);        "2.5"
            tonumber('x');        nil
            string.rep('x', 3);   "xxx"
            rawequal(lua, nil);   true
            print;                function: 0xPTR""")
    void expressionsHaveTheValuesOfLua(String line, String values) {
        assertThat(Notation.of(lua.run(line))).isEqualTo(values);
    }

    @Test
    void statementsFollowOneAnotherUntilReturn() {
        assertThat(Notation.of(lua.run("a = 1; local b, c = a + 1, 'x' return a, b, c"))).isEqualTo("1 | 2 | \"x\"");
        assertThat(lua.run("c = nil")).isEmpty();
        assertThat(Notation.of(lua.run("c"))).isEqualTo("nil");
    }

    @Test
    void tablesAreWrittenByIndexAndByName() {
        assertThat(Notation.of(lua.run("t = {}; t[1] = 5; t.name = 'x'; return t, t.name")))
                .isEqualTo("{[1]=5, [\"name\"]=\"x\"} | \"x\"");
    }

    @Test
    void loopsGoThroughAnArrayAndPrint() {
        assertThat(lua.run("for i, t in ipairs{'a', 'b'} do io.write(i, t, ' ') end print(1, nil)")).isEmpty();
        assertThat(basics.takePrinted()).isEqualTo("1a 2b 1\tnil\n");
        assertThat(basics.takePrinted()).isEmpty();
    }

    @Test
    void whatNoVariableLeadsToIsNotReachable() {
        LuaTable kept = (LuaTable) lua.run("kept = {}; holder = {kept}; kept = nil; return holder[1]").getFirst();
        LuaTable lost = (LuaTable) lua.run("{}").getFirst();
        assertThat(lua.reachable()).contains(kept).doesNotContain(lost);
    }

    @ParameterizedTest
    @ValueSource(strings = {"1 +", "x = ", "f(", "{1", "1 = 2", "'open", "a b", "~"})
    void whatIsNoLuaIsRefused(String line) {
        assertThatExceptionOfType(LuaError.class).isThrownBy(() -> lua.run(line));
    }

    @ParameterizedTest
    @ValueSource(strings = {"missing()", "missing.field", "1 + {}", "'a'..{}", "({}):method()", "#1"})
    void whatLuaRefusesToDoIsAnError(String line) {
        assertThatExceptionOfType(LuaError.class).isThrownBy(() -> lua.run(line));
    }

    @ParameterizedTest
    @CsvSource({"0, 0", "-0.0, -0", "10, 10", "0.1, 0.10000000000000001", "1e16, 10000000000000000", "1e17, 1e+17",
            "4611686018427387904, 4.6116860184273879e+18", "1e-4, 0.0001", "6.1e-5, 6.0999999999999999e-05",
            "5e-324, 4.9406564584124654e-324", "-1e300, -1.0000000000000001e+300"})
    void numbersArePrintedWithSeventeenDigits(double value, String text) {
        assertThat(Numbers.print(value)).isEqualTo(text);
    }

    @ParameterizedTest
    @CsvSource({"12, 12", "' 12', 12", "-0x10, -16", "010, 8", "7abc, 7", "abc, 0", "'', 0", "1.9, 1",
            "9223372036854775808, 9223372036854775807"})
    void textsBecomeIntegersAsInC(String text, long value) {
        assertThat(Numbers.strtoll(text)).isEqualTo(value);
    }

    @ParameterizedTest
    @CsvSource({"'010', 10", "'0x10', 16", "' 5 ', 5", "1e2, 100"})
    void textsBecomeNumbersAsInLua(String text, double value) {
        assertThat(Numbers.find(text)).contains(value);
    }
}
