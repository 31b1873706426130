package io.undercroft.properties.states;

/// How a state is made. It prints a Java program that makes an equal one.
public interface Sketch {
    /// {@return the state} Each call makes an equal one of other objects.
    Object make();
}
