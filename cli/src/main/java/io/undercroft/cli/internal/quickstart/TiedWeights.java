package io.undercroft.cli.internal.quickstart;

/// The names of the two tensors that are one in GPT-2: the token embedding is also the output layer.
final class TiedWeights {
    static final String EMBEDDING = "model/transformer.wte.weight";
    static final String HEAD = "model/lm_head.weight";

    private TiedWeights() {}
}
