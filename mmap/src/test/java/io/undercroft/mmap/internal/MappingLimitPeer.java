package io.undercroft.mmap.internal;

import io.undercroft.testsupport.Proc;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;

/// A process that unmaps a part of a mapping when it has as many mappings as it may have: that would make two of one.
/// Prints what became of it.
public final class MappingLimitPeer {
    private static final int MOST = 1 << 19;

    private final Libc libc = Libc.find().orElseThrow();
    private final long page = libc.pageSize();
    private final long[] taken = new long[MOST];
    private int count;

    private MappingLimitPeer() {}

    /// Runs it.
    ///
    /// @param args none
    public static void main(String[] args) throws IOException {
        System.setErr(new PrintStream(OutputStream.nullOutputStream()));
        MappingLimitPeer peer = new MappingLimitPeer();
        // No class is loaded later, when there is no mapping for it: this fails, as it is no page.
        Mapping.unmap(peer.libc, 1, peer.page);
        System.out.println(peer.run());
    }

    private String run() throws IOException {
        long three = map(3, Mapping.READ_WRITE);
        exhaust();
        Mapping.unmap(libc, three + page, page);
        giveBack();
        boolean hasStayed = Proc.isMapped(three + page);
        Mapping.unmap(libc, three, page);
        return (hasStayed ? "it stayed" : "it was unmapped")
                + (Proc.isMapped(three + page) ? ", and stays for good" : ", and was unmapped then");
    }

    private long map(int pages, int protection) throws ErrnoException {
        return libc.mmap(0, pages * page, protection,
                LinuxConstants.MAP_PRIVATE | LinuxConstants.MAP_ANONYMOUS, -1, 0);
    }

    /// Neighbours that allow different things are not merged.
    private void exhaust() {
        try {
            while (count < MOST) {
                taken[count] = map(1, count % 2 == 0 ? LinuxConstants.PROT_READ : Mapping.READ_WRITE);
                count++;
            }
        } catch (ErrnoException _) {
            // Now there is none.
        }
    }

    private void giveBack() throws ErrnoException {
        while (count > 0) {
            libc.munmap(taken[--count], page);
        }
    }
}
