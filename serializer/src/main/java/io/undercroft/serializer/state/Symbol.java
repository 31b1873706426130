package io.undercroft.serializer.state;

import java.util.Objects;

/// A named constant of another system, for instance `torch.per_channel_affine` or `torch.sparse_coo`. It is kept and
/// saved, and never resolved.
///
/// @param name the full name
public record Symbol(String name) {
    /// Checks the name.
    public Symbol {
        Objects.requireNonNull(name, "name");
    }
}
