package io.undercroft.interop.torch7;

import io.undercroft.storage.DType;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/// A class of storages or tensors.
///
/// @param dtype the type of the elements
/// @param role what its objects are
record TorchClass(DType dtype, Role role) {
    /// The class of random generators, which is neither.
    static final String GENERATOR = "torch.Generator";
    /// The size of a generator on 64-bit machines.
    static final int GENERATOR_BYTES = 5048;

    private static final List<DType> DTYPES = List.of(DType.UINT8, DType.INT8, DType.INT16, DType.INT32, DType.INT64,
            DType.FLOAT32, DType.FLOAT64, DType.FLOAT16);
    private static final Map<String, TorchClass> BY_NAME = byName();

    enum Role {
        STORAGE("Storage"), TENSOR("Tensor");

        private final String suffix;

        Role(String suffix) {
            this.suffix = suffix;
        }
    }

    /// Objects of CUDA are laid out as those of the CPU; and what has no type in its name there has floats.
    private static Map<String, TorchClass> byName() {
        Map<String, TorchClass> names = new LinkedHashMap<>();
        for (Role role : Role.values()) {
            for (DType dtype : DTYPES) {
                TorchClass each = new TorchClass(dtype, role);
                names.put(each.name(), each);
                String element = dtype.equals(DType.FLOAT32) ? "" : element(dtype);
                names.put("torch.Cuda" + element + role.suffix, each);
            }
        }
        return Map.copyOf(names);
    }

    /// {@return the class of a name, if its objects are storages or tensors}
    static Optional<TorchClass> find(String name) {
        return Optional.ofNullable(BY_NAME.get(name));
    }

    /// {@return whether Torch7 has elements of a type}
    static boolean has(DType dtype) {
        return DTYPES.contains(dtype);
    }

    /// {@return the types of elements that Torch7 has, for messages}
    static String dtypes() {
        return DTYPES.stream().map(DType::name).collect(Collectors.joining(", "));
    }

    /// {@return its name in Torch7, for instance `torch.FloatTensor`}
    String name() {
        return "torch." + element(dtype) + role.suffix;
    }

    /// What the names of Torch7's classes begin with is the last alias of a dtype.
    private static String element(DType dtype) {
        return dtype.aliases().getLast();
    }
}
