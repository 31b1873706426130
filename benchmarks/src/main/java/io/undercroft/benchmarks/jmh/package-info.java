/// JMH benchmarks of storage-core.
///
/// Each class has a method `ours` and, where the JDK can do the same, a method `plain`; what they are compared with in
/// Python is in `peers.py`. [io.undercroft.benchmarks] runs each method in a separate JVM and reports the results as
/// figures. The classes are public because JMH's generated code must see them.
@NullMarked
package io.undercroft.benchmarks.jmh;

import org.jspecify.annotations.NullMarked;
