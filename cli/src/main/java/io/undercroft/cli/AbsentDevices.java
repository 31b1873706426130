package io.undercroft.cli;

import io.undercroft.storage.Device;
import java.util.Collections;
import java.util.Set;
import java.util.SortedSet;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.function.UnaryOperator;

/// Takes storages that were saved from another device than the CPU to the CPU, and remembers which devices these were:
/// their bytes are in the file, and the device need not be here.
final class AbsentDevices implements UnaryOperator<Device> {
    private final SortedSet<String> met = new ConcurrentSkipListSet<>();

    @Override
    public Device apply(Device saved) {
        if (!saved.isCpu()) {
            met.add(saved.toString());
        }
        return Device.CPU;
    }

    /// {@return the devices seen so far, as PyTorch writes them}
    Set<String> met() {
        return Collections.unmodifiableSet(met);
    }
}
