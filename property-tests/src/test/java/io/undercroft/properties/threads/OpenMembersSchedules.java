package io.undercroft.properties.threads;

import static io.undercroft.properties.threads.Interleavings.explore;
import static io.undercroft.properties.threads.Interleavings.require;
import static io.undercroft.properties.threads.Interleavings.requireRefusal;
import static io.undercroft.properties.threads.Interleavings.together;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MappedFile;
import io.undercroft.properties.threads.Interleavings.Action;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.internal.sets.OpenSet;
import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/// A member of an open set is opened once at a time, stays open while it is used, and is closed once.
class OpenMembersSchedules {
    /// The number of unused members that stay open.
    private static final int MOST_IDLE = 256;

    /// Names of members that are the index itself.
    private static final List<String> NAMES = List.of("", "");

    private static MappedFile index;
    /// The number of open members that a set counts. There is no other way to make so many: Lincheck takes loops of
    /// more than 50 rounds to be endless.
    private static VarHandle openMembers;

    @BeforeAll
    static void openTheIndex() throws IOException, ReflectiveOperationException {
        index = new StoreFile("memory:index", () -> true).open();
        openMembers = MethodHandles.privateLookupIn(OpenSet.class, MethodHandles.lookup())
                .findVarHandle(OpenSet.class, "open", AtomicInteger.class);
    }

    @AfterAll
    static void closeTheIndex() {
        index.close();
    }

    /// A set whose members are its index.
    private static final class Members {
        private final Member[] members;
        private final int failures;
        private final OpenSet<Opened> set;

        /// The members of a set.
        ///
        /// @param count the number of members
        /// @param failures how often each of them cannot be opened at first
        Members(int count, int failures) throws IOException {
            this.members = new Member[count];
            for (int number = 0; number < count; number++) {
                members[number] = new Member();
            }
            this.failures = failures;
            this.set = new OpenSet<>(index, NAMES.subList(0, count), OpenOptions.defaults(), this::open,
                    (what, remedy) -> new FormatException("TEST", what, 0, remedy.toString()));
        }

        private Opened open(int number, MappedFile file) throws IOException {
            Member member = members[number];
            if (member.attempts.incrementAndGet() <= failures) {
                throw new IOException("cannot be opened");
            }
            member.opens.incrementAndGet();
            return new Opened(member);
        }

        /// Uses a member, which must be open from the beginning to the end.
        void use(int number) throws IOException {
            set.use(number, (file, opened) -> {
                Member member = members[number];
                require(!opened.isReleased, "used after it was closed");
                require(member.opens.get() - member.closes.get() == 1, "open twice");
                require(!opened.isReleased, "closed while it was used");
                return number;
            });
        }

        void closeAll() {
            set.close();
            for (Member member : members) {
                require(member.opens.get() == member.closes.get(), "not closed as often as it was opened");
            }
        }
    }

    /// How often a member was opened and closed.
    private static final class Member {
        private final AtomicInteger attempts = new AtomicInteger();
        private final AtomicInteger opens = new AtomicInteger();
        private final AtomicInteger closes = new AtomicInteger();
    }

    /// An open member.
    private static final class Opened extends NoContents {
        private final Member member;
        private volatile boolean isReleased;

        Opened(Member member) {
            this.member = member;
        }

        @Override
        public void release() {
            require(!isReleased, "closed twice");
            isReleased = true;
            member.closes.incrementAndGet();
        }
    }

    @Test
    void twoThreadsUseAMemberAtOnce() {
        explore("use against use", () -> {
            Members members = new Members(1, 0);
            together(() -> members.use(0), () -> members.use(0));
            require(members.members[0].opens.get() == 1, "opened more than once");
            members.closeAll();
        });
    }

    @Test
    void aSetIsClosedWhileItsMembersAreUsed() {
        explore("use against close", () -> {
            Members members = new Members(2, 0);
            together(members.set::close, () -> {
                try {
                    members.use(0);
                    members.use(1);
                } catch (IllegalStateException e) {
                    requireRefusal(e, "is closed");
                }
            });
            for (Member member : members.members) {
                require(member.opens.get() == member.closes.get(), "not closed as often as it was opened");
            }
        });
    }

    @Test
    void aMemberThatCannotBeOpenedIsTriedAgain() {
        explore("use that fails against use", () -> {
            Members members = new Members(1, 1);
            AtomicInteger failed = new AtomicInteger();
            Action use = () -> {
                try {
                    members.use(0);
                } catch (IOException _) {
                    failed.incrementAndGet();
                }
            };
            together(use, use);
            require(failed.get() == 1, failed.get() + " uses failed");
            members.closeAll();
        });
    }

    @Test
    void anUnusedMemberIsClosedForAnotherWhileItIsUsedAgain() {
        explore("use against use of one more than stay open", () -> {
            Members members = new Members(2, 0);
            ((AtomicInteger) openMembers.get(members.set)).set(MOST_IDLE - 1);
            members.use(0);
            together(() -> members.use(1), () -> members.use(0));
            members.closeAll();
        });
    }
}
