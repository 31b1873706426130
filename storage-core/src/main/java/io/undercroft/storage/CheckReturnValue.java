package io.undercroft.storage;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/// A method, or any method of a type, that changes nothing and returns the result, so that a call that ignores it does
/// nothing: `tensor.set(storage)` where PyTorch has `tensor.set_(storage)`. Error Prone and the tools that share its
/// rules check every annotation of this simple name.
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.TYPE})
public @interface CheckReturnValue {
}
