package io.undercroft.spark.internal.files;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URI;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class BinsTest {
    private static DataFile file(int number, long nbytes) {
        return new DataFile(URI.create("file:///d/" + number + ".pt"), URI.create("file:///d/"), nbytes, 0);
    }

    private static long nbytes(List<DataFile> files) {
        return files.stream().mapToLong(DataFile::nbytes).sum();
    }

    @Test
    void noTaskHasMuchMoreBytesThanAnother() {
        List<DataFile> files = IntStream.range(0, 100).mapToObj(i -> file(i, ((long) i * i) << 20)).toList();

        List<List<DataFile>> bins = Bins.divide(files, DataFile::nbytes, 8, Long.MAX_VALUE);

        assertThat(bins).hasSize(8);
        assertThat(bins.stream().flatMap(List::stream)).containsExactlyInAnyOrderElementsOf(files);
        assertThat(nbytes(bins.getFirst()) - nbytes(bins.getLast())).isLessThan(nbytes(files) / 100);
    }

    @Test
    void thereAreAsManyTasksAsTheSizeOfOneRequires() {
        List<DataFile> files = IntStream.range(0, 100).mapToObj(i -> file(i, 60L << 20)).toList();

        assertThat(Bins.divide(files, DataFile::nbytes, 2, 1L << 30)).hasSize(7);
        assertThat(Bins.divide(files, _ -> 0, 2, 1L << 30)).hasSize(2);
        assertThat(Bins.divide(files.subList(0, 3), DataFile::nbytes, 8, 1L << 30)).hasSize(3);
        assertThat(Bins.divide(List.of(), DataFile::nbytes, 8, 1L << 30)).isEmpty();
    }

    @Test
    void sizesBeyondALongAreTheLargest() {
        assertThat(Bins.divide(List.of(file(1, Long.MAX_VALUE), file(2, Long.MAX_VALUE)), DataFile::nbytes, 2, 1))
                .hasSize(2);
    }
}
