package io.undercroft.cuda;

import io.undercroft.mmap.SharedMemory;
import io.undercroft.mmap.SharedStorageHandle;
import io.undercroft.mmap.SharedTensorHandle;
import io.undercroft.storage.Allocator;
import io.undercroft.storage.Device;
import io.undercroft.storage.Storage;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.MalformedURLException;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/// The other process: shares storages and opens handles, as it is told by lines of its input. Answers each by one line.
final class SharingPeer {
    private final List<Storage> storages = new ArrayList<>();
    private Object secondCopy = this;

    private SharingPeer() {}

    @SuppressWarnings("SystemOut")
    public static void main(String[] args) throws IOException {
        System.out.println(StandIn.failure().orElse("ready"));
        SharingPeer peer = new SharingPeer();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            try {
                System.out.println(peer.answer(line.split(" ", -1)));
            } catch (IOException | RuntimeException e) {
                System.out.println(e.getClass().getSimpleName() + ": " + e.getMessage());
            }
        }
    }

    private String answer(String... words) throws IOException {
        return switch (words[0]) {
            case "open" -> opened(SharedStorageHandle.parse(words[1]).open());
            case "tensor" -> Arrays.toString(SharedTensorHandle.parse(words[1]).open().cpu().toDoubleArray());
            case "open-and-close" -> {
                SharedStorageHandle.parse(words[1]).open().release();
                yield "closed";
            }
            case "read" -> storage(words[1]).cpu().toList().toString();
            case "fill" -> storage(words[1]).fill(Byte.parseByte(words[2])).describe();
            case "release" -> {
                storage(words[1]).release();
                yield "released";
            }
            case "share" -> {
                opened(Storage.allocate(Long.parseLong(words[1]), Allocator.on(Device.cuda(0))).fill((byte) 5)
                        .shareMemory());
                yield handOn(storages.size() - 1);
            }
            case "hand-on" -> handOn(Integer.parseInt(words[1]));
            case "submit" -> {
                StandIn.submit(storage(words[1]).dataPtr(), storage(words[1]).nbytes(), Integer.parseInt(words[2]));
                yield "submitted";
            }
            case "gate" -> {
                StandIn.gate(words[1].equals("closed"));
                yield words[1];
            }
            case "pid" -> String.valueOf(ProcessHandle.current().pid());
            case "second-copy" -> {
                secondCopy = heldBySecondCopy();
                yield secondCopy.toString();
            }
            case "get" -> String.valueOf(StandIn.get(words[1]));
            default -> throw new IllegalArgumentException(words[0]);
        };
    }

    /// Loads the library once more, and makes shared memory with that copy.
    private static Object heldBySecondCopy() {
        URL[] classPath = Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
                .map(entry -> url(Path.of(entry).toUri())).toArray(URL[]::new);
        ClassLoader loader = new URLClassLoader(classPath, ClassLoader.getPlatformClassLoader());
        try {
            return loader.loadClass(SharedMemory.class.getName()).getMethod("create", String.class, long.class)
                    .invoke(null, "undercroft_cuda_" + ProcessHandle.current().pid() + "_second", 1L);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static URL url(URI uri) {
        try {
            return uri.toURL();
        } catch (MalformedURLException e) {
            throw new IllegalArgumentException(e);
        }
    }

    private Storage storage(String index) {
        return storages.get(Integer.parseInt(index));
    }

    /// {@return which of the storages it is, and where}
    private String opened(Storage storage) {
        int known = storages.indexOf(storage);
        if (known < 0) {
            storages.add(storage);
        }
        return (known < 0 ? storages.size() - 1 : known) + " on " + storage.device();
    }

    private String handOn(int index) {
        return SharedStorageHandle.of(storages.get(index)).toString();
    }
}
