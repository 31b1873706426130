package io.undercroft.serializer;

/// How [a checkpoint is loaded into tensors][Checkpoint#loadInto]. Immutable: each method returns a changed copy.
public final class LoadOptions {
    private static final LoadOptions DEFAULTS = new LoadOptions(true);

    private final boolean isStrict;

    private LoadOptions(boolean isStrict) {
        this.isStrict = isStrict;
    }

    /// {@return strict: both have the same names, as by default in PyTorch}
    public static LoadOptions defaults() {
        return DEFAULTS;
    }

    /// Loads the tensors that both have, and leaves others as they are (`strict=False` in PyTorch). Their shapes still have
    /// to be the same.
    ///
    /// @return the changed options
    public LoadOptions partial() {
        return new LoadOptions(false);
    }

    /// {@return whether both need to have the same names}
    public boolean isStrict() {
        return isStrict;
    }
}
