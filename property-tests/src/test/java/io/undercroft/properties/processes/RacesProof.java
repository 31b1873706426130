package io.undercroft.properties.processes;

import io.undercroft.benchmarks.Figure;
import io.undercroft.benchmarks.Report;
import io.undercroft.properties.Effort;
import io.undercroft.properties.RandomProof;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/// Lets threads race for as many storages as there is time for ([StorageRace]).
public final class RacesProof {
    private RacesProof() {}

    public static Report run(Effort effort) throws IOException {
        Duration each = effort == Effort.FULL ? Duration.ofMinutes(1) : Duration.ofSeconds(3);
        return RandomProof.report("races", (seed, scratch) -> {
            List<Figure> figures = new ArrayList<>();
            for (Backing backing : Backing.values()) {
                figures.addAll(prove(new StorageRace(backing, false, scratch.directory()), each, seed));
                figures.addAll(prove(new StorageRace(backing, true, scratch.directory()), each, seed));
            }
            return figures;
        });
    }

    private static List<Figure> prove(StorageRace race, Duration time, long seed) {
        String what = race.backing().name().toLowerCase(Locale.ROOT) + (race.moving() ? ", moving" : ", steady");
        try {
            return List.of(Figure.count(what + ": storages raced for", race.run(time, seed)), broken(what, 0));
        } catch (AssertionError | RuntimeException e) {
            e.printStackTrace();
            return List.of(broken(what, 1));
        } catch (InterruptedException e) {
            throw new IllegalStateException("nobody interrupts this thread", e);
        }
    }

    private static Figure broken(String what, long count) {
        return Figure.count(what + ": races that went wrong", count).atMost(0);
    }
}
