/// A program that opens and saves checkpoints, and adds a format of its own.
module io.undercroft.samples {
    requires io.undercroft.serializer;

    // For the record that is part of the state.
    opens io.undercroft.samples to io.undercroft.serializer;

    provides io.undercroft.serializer.spi.CheckpointFormat with io.undercroft.samples.MatrixFormat;
}
