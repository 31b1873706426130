package io.undercroft.testsupport;

/// How often tests try what they try with many inputs: `mvn verify` makes a tenth of the tries, and `.ci/run` all.
public final class Tries {
    /// Whether all tries are made: `-Dtest.tries=all` of Maven.
    public static final boolean ARE_ALL = "all".equals(System.getProperty("undercroft.tries"));

    private Tries() {}

    /// {@return how many tries to make}
    ///
    /// @param all the number of all
    public static int of(int all) {
        return ARE_ALL ? all : Math.ceilDiv(all, 10);
    }
}
