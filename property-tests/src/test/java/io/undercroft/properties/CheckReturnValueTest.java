package io.undercroft.properties;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaMethod;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption.DoNotIncludeTests;
import io.undercroft.storage.CheckReturnValue;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/// Compilers and IDEs say where the result of a method that changes nothing is ignored.
class CheckReturnValueTest {
    /// What programs call. The packages of SPIs are for code that provides something.
    private static final Set<String> API = Set.of("storage", "mmap", "serializer", "serializer.state", "interop",
            "adapters", "cuda", "spark");
    /// These change the object and return it.
    private static final Set<String> CHANGE = new TreeSet<>(Set.of("MappedFile.retain", "QuantizedTensor.shareMemory",
            "SharedMemory.retain", "SparseTensor.shareMemory", "Storage.byteswap", "Storage.copyFrom", "Storage.fill",
            "Storage.materialize", "Storage.moveTo", "Storage.pinInPlace", "Storage.resize", "Storage.retain",
            "Storage.shareMemory", "Tensor.copyFrom", "Tensor.fill", "Tensor.shareMemory", "TypedStorage.copyFrom",
            "TypedStorage.fill", "TypedStorage.resize", "TypedStorage.retain", "TypedStorage.shareMemory",
            "TypedStorage.string"));

    @Test
    void everyMethodThatReturnsAChangedCopyIsAnnotated() {
        Set<String> missing = new TreeSet<>();
        for (JavaClass type : new ClassFileImporter().withImportOption(new DoNotIncludeTests())
                .importPackages("io.undercroft")) {
            if (isPublic(type)) {
                for (JavaMethod method : type.getMethods()) {
                    if (returnsItsOwnType(method) && !isAnnotated(method)) {
                        missing.add(type.getSimpleName() + "." + method.getName());
                    }
                }
            }
        }
        assertThat(missing).isEqualTo(CHANGE);
    }

    private static boolean isPublic(JavaClass type) {
        return type.getModifiers().contains(JavaModifier.PUBLIC)
                && API.contains(type.getPackageName().substring("io.undercroft.".length()));
    }

    private static boolean returnsItsOwnType(JavaMethod method) {
        return method.getModifiers().contains(JavaModifier.PUBLIC)
                && !method.getModifiers().contains(JavaModifier.STATIC)
                && !method.getModifiers().contains(JavaModifier.SYNTHETIC)
                && method.getRawReturnType().equals(method.getOwner());
    }

    private static boolean isAnnotated(JavaMethod method) {
        return method.isAnnotatedWith(CheckReturnValue.class)
                || method.getOwner().isAnnotatedWith(CheckReturnValue.class);
    }
}
