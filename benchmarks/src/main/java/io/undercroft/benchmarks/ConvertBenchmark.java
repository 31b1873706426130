package io.undercroft.benchmarks;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.ChecksumPolicy;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/// Files of one format made of files of another, durably, compared with a save of the same tensors from memory. What is
/// read is in the page cache. Before and after each run the disk is left to finish what it has to write.
final class ConvertBenchmark {
    private static final String SAVE = "undercroft, saved from memory";
    private static final Conversion FROM_PT = new Conversion("pt", "croft", true);
    private static final Conversion TO_PT = new Conversion("croft", "pt", true);
    private static final List<Conversion> CONVERSIONS = List.of(FROM_PT, new Conversion("pt", "croft", false),
            new Conversion("croft", "croft", true), new Conversion("croft", "croft", false),
            new Conversion("safetensors", "croft", true), TO_PT, new Conversion("croft", "safetensors", true),
            new Conversion("croft", "safetensors", false));
    private static final double TARGET_BESIDE_SAVE = 0.8;
    private static final double MOST_MEMORY = 128;

    private ConvertBenchmark() {}

    /// A file of one format made of one of another.
    private record Conversion(String from, String to, boolean isChecked) {
        String name() {
            return "." + from + " to ." + to + (isChecked ? "" : ", checksums not compared");
        }

        Path made(Bench bench) {
            return bench.file("made." + to);
        }

        void run(Bench bench) throws IOException {
            OpenOptions options = OpenOptions.defaults();
            try (Checkpoint checkpoint = Checkpoint.open(bench.file("model." + from),
                    isChecked ? options : options.checksums(ChecksumPolicy.NONE))) {
                Checkpoint.save(made(bench), checkpoint.tree());
            }
        }
    }

    static void run(Bench bench) throws IOException {
        Workload workload = Workload.large(bench);
        bench.prepareAll(workload);
        Map<String, Tensor> state = Bench.copyToMemory(bench.pt());
        List<Contender> contenders = new ArrayList<>();
        contenders.add(bench.writing(SAVE, bench.file("made.croft"), workload.nbytes(),
                path -> Checkpoint.save(path, state)));
        for (Conversion conversion : CONVERSIONS) {
            contenders.add(bench.writing(conversion.name(), conversion.made(bench), workload.nbytes(),
                    _ -> conversion.run(bench)));
        }
        Timings timings = bench.time(contenders);
        timings.contenders().forEach(contender -> bench.add(timings.rate(workload, contender)));
        for (Conversion conversion : CONVERSIONS) {
            Figure ratio = timings.compared("", conversion.name(), SAVE);
            bench.add(conversion.equals(FROM_PT) ? ratio.atLeast(TARGET_BESIDE_SAVE) : ratio);
        }
        measureMemory(bench, FROM_PT);
        measureMemory(bench, TO_PT);
        bench.settleAll();
    }

    /// The peak of the private memory of the process, less that before; pages of the files it maps do not count.
    private static void measureMemory(Bench bench, Conversion conversion) throws IOException {
        List<Double> mebibytes = new ArrayList<>();
        for (int round = 0; round < bench.rounds(); round++) {
            System.gc();
            mebibytes.add(ProcessMemory.anonymousPeakDuring(() -> conversion.run(bench)) / 0x1p20);
        }
        bench.add(Figure.of("memory that " + conversion.name() + " takes, at the peak", new Samples(mebibytes), "MiB")
                .atMost(MOST_MEMORY));
    }
}
