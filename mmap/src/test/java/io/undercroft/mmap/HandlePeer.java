package io.undercroft.mmap;

import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/// The other process: opens handles to tensors, one a line, and tells for each which of the storages it uses and
/// what it reads; at the end it adds one to the first element of all.
final class HandlePeer {
    private HandlePeer() {}

    @SuppressWarnings("SystemOut")
    public static void main(String[] args) throws IOException {
        List<Storage> storages = new ArrayList<>();
        List<Tensor> tensors = new ArrayList<>();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); !line.equals("add"); line = lines.readLine()) {
            try {
                Tensor tensor = SharedTensorHandle.parse(line).open();
                tensors.add(tensor);
                Storage storage = tensor.storage().base().orElse(tensor.storage());
                if (!storages.contains(storage)) {
                    storages.add(storage);
                }
                System.out.println(storages.indexOf(storage) + " " + tensor.dtype().name() + " " + tensor.shape() + " "
                        + Arrays.toString(tensor.toDoubleArray()) + " " + tensor.storage().referenceCount());
            } catch (IOException e) {
                System.out.println(e.getClass().getSimpleName() + " " + e.getMessage());
            }
        }
        for (Tensor tensor : tensors) {
            long[] first = new long[tensor.dim()];
            tensor.setDouble(first, tensor.getDouble(first) + 1);
        }
        System.out.println("added");
        for (Tensor tensor : tensors) {
            tensor.storage().release();
        }
    }
}
