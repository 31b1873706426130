package io.undercroft.cli.internal.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.undercroft.testsupport.Commands;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

class PythonPeerTest {
    @TempDir
    Path folder;

    /// {@return an interpreter that finds the modules of the folder}
    private Path python() throws IOException, InterruptedException {
        assumeTrue(Commands.succeed("python3", "--version"), "there is no python3");
        Path python = Files.writeString(folder.resolve("python"),
                "#!/bin/sh\nPYTHONPATH='" + folder + "' exec python3 \"$@\"\n");
        Files.setPosixFilePermissions(python, PosixFilePermissions.fromString("rwx------"));
        return python;
    }

    private void check(Path python, String reason) throws IOException {
        try (PythonPeer peer = PythonPeer.start(Optional.of(python.toString()), folder.resolve("errors"))) {
            assertThat(peer.isAvailable()).isFalse();
            assertThat(peer.description()).isEqualTo(python + ": " + reason);
        }
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void aPythonThatFailsIsUnavailableWithItsReason() throws IOException, InterruptedException {
        Path python = python();
        Files.writeString(Files.createDirectory(folder.resolve("safetensors")).resolve("torch.py"), "");
        Files.writeString(folder.resolve("torch.py"), "raise RuntimeError('a broken installation')");
        check(python, "Python ended; it needs torch and safetensors: RuntimeError: a broken installation");
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void aPythonWithoutALibraryIsUnavailableWithItsReason() throws IOException, InterruptedException {
        Path python = python();
        Files.writeString(folder.resolve("safetensors.py"), "");
        check(python, "No module named 'safetensors.torch'; 'safetensors' is not a package");
    }

    @Test
    void aPythonThatDoesNotExistIsUnavailable() throws IOException {
        String python = folder.resolve("python").toString();
        try (PythonPeer peer = PythonPeer.start(Optional.of(python), folder.resolve("errors"))) {
            assertThat(peer.isAvailable()).isFalse();
            assertThat(peer.description()).isEqualTo("there is no " + python + "; name one with --python");
        }
    }
}
