/// The formats of PyTorch, safetensors, NumPy, GGUF, ONNX and Torch7.
module io.undercroft.interop {
    requires static transitive org.jspecify;
    requires transitive io.undercroft.serializer;

    exports io.undercroft.interop.gguf;
    exports io.undercroft.interop.numpy;
    exports io.undercroft.interop.safetensors;
    exports io.undercroft.interop.torch;
    exports io.undercroft.interop.torch7;

    provides io.undercroft.format.dump.FormatDump with io.undercroft.interop.safetensors.SafetensorsDump;
    provides io.undercroft.serializer.spi.CheckpointFormat with
            io.undercroft.interop.safetensors.SafetensorsFormat,
            io.undercroft.interop.torch.TorchZipFormat,
            io.undercroft.interop.torch.TorchLegacyFormat,
            io.undercroft.interop.torch.TorchTarFormat,
            io.undercroft.interop.torch.TorchIndexFormat,
            io.undercroft.interop.torch.TorchDistributedFormat,
            io.undercroft.interop.torch.PickleFormat,
            io.undercroft.interop.safetensors.SafetensorsIndexFormat,
            io.undercroft.interop.numpy.NpyFormat,
            io.undercroft.interop.numpy.NpzFormat,
            io.undercroft.interop.gguf.GgufFormat,
            io.undercroft.interop.internal.onnx.OnnxFormat,
            io.undercroft.interop.torch7.Torch7Format;
}
