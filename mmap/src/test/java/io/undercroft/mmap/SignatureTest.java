package io.undercroft.mmap;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SignatureTest {
    @TempDir
    Path folder;

    private boolean startsWith(String content, String signature) throws IOException {
        Path path = Files.writeString(folder.resolve("file"), content);
        try (MappedFile file = MappedFile.open(path, MapMode.READ_ONLY)) {
            return file.startsWith(signature.getBytes(US_ASCII));
        }
    }

    @Test
    void aFileStartsWithItsFirstBytes() throws IOException {
        assertThat(startsWith("signature and more", "signature")).isTrue();
        assertThat(startsWith("signature", "signature")).isTrue();
    }

    @Test
    void anotherFileAndAShorterOneDoNot() throws IOException {
        assertThat(startsWith("signatures", "signed")).isFalse();
        assertThat(startsWith("sign", "signature")).isFalse();
        assertThat(startsWith("", "s")).isFalse();
    }
}
