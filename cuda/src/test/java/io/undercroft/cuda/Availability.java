package io.undercroft.cuda;

import io.undercroft.cuda.internal.DriverFolder;
import io.undercroft.storage.Device;
import io.undercroft.storage.Storage;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/// Run in a JVM of its own: which devices there are, or why there is none, and what happens to those that want one.
final class Availability {
    private Availability() {}

    @SuppressWarnings({"SystemOut", "restricted"})
    public static void main(String[] args) throws Exception {
        String standIn = System.getProperty("undercroft.standin");
        if (standIn != null) {
            System.load(standIn);
        }
        String folder = System.getProperty("undercroft.folder");
        if (folder != null) {
            DriverFolder.load(Path.of(folder));
        }
        if (Boolean.getBoolean("undercroft.removetmpdir")) {
            System.clearProperty("java.io.tmpdir");
        }
        System.out.println(
                "available: " + CudaDevice.isAvailable() + ", devices: " + CudaDevice.count() + CudaDevice.all());
        System.out.println("why not: " + CudaDevice.unavailability().orElse("it is"));
        try {
            Storage there = Storage.copyOf((byte) 1, (byte) 2).to(Device.cuda(0));
            System.out.println("copied: " + there.copy().slice(1, 1).cpu().toList());
            there.release();
        } catch (IllegalStateException e) {
            System.out.println("copying: " + e.getMessage());
        }
        try {
            System.out.println("pinned: " + Storage.allocate(1).pinMemory().isPinned());
        } catch (IllegalStateException e) {
            System.out.println("pinning: " + e.getMessage());
        }
        try (Stream<Path> left = args.length == 0 ? Stream.empty() : Files.list(Path.of(args[0]))) {
            List<String> names = left.map(file -> file.getFileName().toString())
                    .filter(name -> !name.startsWith("hsperfdata")).sorted().toList();
            System.out.println("left: " + names);
        }
    }
}
