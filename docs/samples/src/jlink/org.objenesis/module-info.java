/// What the jar of Objenesis lacks.
module org.objenesis {
    requires jdk.unsupported;

    exports org.objenesis;
    exports org.objenesis.instantiator;
    exports org.objenesis.strategy;
}
