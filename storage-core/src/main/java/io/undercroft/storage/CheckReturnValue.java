package io.undercroft.storage;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/// Marks a method, or all methods of a type, whose result must be used: the method changes nothing, so a call that
/// ignores the result has no effect. An example is `tensor.set(storage)`, the counterpart of PyTorch's
/// `tensor.set_(storage)`. Error Prone and tools with the same rules recognise annotations by this simple name.
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.TYPE})
public @interface CheckReturnValue {
}
