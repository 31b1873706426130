package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.ByteReader;
import io.undercroft.interop.internal.UnreadParts;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.UnreadPart;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/// The members of a tar archive, and where their bytes lie in it. Nothing is ever unpacked, so a name is only a name:
/// it leads nowhere. Plain files are taken, with sizes from extended (pax) headers; links and devices are refused.
///
/// Immutable and safe for any thread.
final class TarDirectory {
    private static final int BLOCK = 512;
    private static final int NAME_LENGTH = 100;
    private static final int SIZE_AT = 124;
    private static final int SIZE_LENGTH = 12;
    private static final int MAGIC_AT = 257;
    private static final String MAGIC = "ustar";
    private static final int SUM_AT = 148;
    private static final int SUM_END = 156;
    private static final int TYPE_AT = 156;
    /// Sizes from this bit on are binary.
    private static final int BINARY = 0x80;
    private static final long LARGEST_EXTENDED = 1 << 20;
    private static final Pattern EXTENDED = Pattern.compile("(\\d{1,7}) ([^=\\n]+)=([^\\n]*)\\n");

    private final Map<String, Member> members = new LinkedHashMap<>();
    private final List<UnreadPart> behind = new ArrayList<>();

    /// One file in the archive.
    ///
    /// @param start where its bytes start in the file
    /// @param size how many there are
    record Member(long start, long size) {
        long end() {
            return start + size;
        }
    }

    private TarDirectory() {}

    /// {@return the name of the first member, if this is a tar archive} Python writes the times of a file into an
    /// extended header before it.
    ///
    /// @param file any file
    /// @throws IOException if reading fails
    static Optional<String> firstName(MappedFile file) throws IOException {
        String first = headerAt(file, 0);
        if (first.isEmpty() || first.charAt(TYPE_AT) != 'x') {
            return first.isEmpty() ? Optional.empty() : Optional.of(plain(field(first, 0, NAME_LENGTH)));
        }
        String size = field(first, SIZE_AT, SIZE_LENGTH).strip();
        if (!size.matches("[0-7]{1,11}")) {
            return Optional.empty();
        }
        String second = headerAt(file, BLOCK + Math.ceilDiv(Long.parseLong(size, 8), BLOCK) * BLOCK);
        return second.isEmpty() ? Optional.empty() : Optional.of(plain(field(second, 0, NAME_LENGTH)));
    }

    /// {@return a block that looks like a header, or nothing}
    private static String headerAt(MappedFile file, long at) throws IOException {
        if (file.size() - at < BLOCK) {
            return "";
        }
        String text = new String(ByteReader.bytes(file, at, BLOCK), ISO_8859_1);
        return text.startsWith(MAGIC, MAGIC_AT) ? text : "";
    }

    /// Reads all headers of an archive.
    ///
    /// @param file the archive
    /// @return its members
    /// @throws IOException if reading fails
    /// @throws FormatException if it is damaged, or has members that are no plain files
    static TarDirectory read(MappedFile file) throws IOException {
        TarDirectory directory = new TarDirectory();
        OptionalLong extendedSize = OptionalLong.empty();
        long at = 0;
        while (file.size() - at >= BLOCK) {
            byte[] block = ByteReader.bytes(file, at, BLOCK);
            if (isZero(block)) {
                break;
            }
            Header header = new Header(block, at);
            Member member = new Member(at + BLOCK, header.size(extendedSize));
            if (member.size > file.size() - member.start) {
                throw damaged(
                        "a member " + FormatException.quote(header.name()) + " that reaches beyond the end of the file",
                        at);
            }
            extendedSize = OptionalLong.empty();
            switch (header.type()) {
                case 'x' -> extendedSize = extendedSize(file, member);
                case 'g' -> extendedSize(file, member).ifPresent(_ -> {
                    throw damaged("a size for all members", member.start);
                });
                case '0', 0 -> directory.add(header, member);
                default ->
                    throw damaged("a member " + FormatException.quote(header.name()) + " that is no plain file", at);
            }
            at = Math.min(file.size(), Math.ceilDiv(member.end(), BLOCK) * BLOCK);
        }
        UnreadParts.behind("what is behind the archive", file, at).ifPresent(directory.behind::add);
        return directory;
    }

    /// {@return the parts of the file that a state does not refer to: members, and what is behind the archive}
    ///
    /// @param known the names of members that belong to the state
    List<UnreadPart> besides(Set<String> known) {
        UnreadParts others = new UnreadParts("member");
        members.forEach((name, member) -> {
            if (!known.contains(name)) {
                others.add(name, member.start, member.size);
            }
        });
        return Stream.concat(others.part().stream(), behind.stream()).toList();
    }

    /// {@return the member of that name, or nothing}
    ///
    /// @param name without a path
    Optional<Member> find(String name) {
        return Optional.ofNullable(members.get(name));
    }

    private void add(Header header, Member member) {
        if (members.put(header.name(), member) != null) {
            throw damaged("two members named " + FormatException.quote(header.name()), header.position);
        }
    }

    /// Returns the size in an extended header, whose lines are `LENGTH KEY=VALUE`.
    private static OptionalLong extendedSize(MappedFile file, Member member) throws IOException {
        if (member.size > LARGEST_EXTENDED) {
            throw damaged("an extended header of " + member.size + " bytes", member.start);
        }
        byte[] bytes = ByteReader.bytes(file, member.start, (int) member.size);
        OptionalLong size = OptionalLong.empty();
        Matcher line = EXTENDED.matcher(new String(bytes, UTF_8));
        while (line.lookingAt()) {
            switch (line.group(2)) {
                case "size" -> size = OptionalLong.of(number(line.group(3), 10, member.start));
                case "path", "linkpath", "GNU.sparse.major" ->
                    throw damaged("an extended header that gives a member another name", member.start);
                default -> {
                }
            }
            line.region(line.end(), line.regionEnd());
        }
        if (line.regionStart() != line.regionEnd()) {
            throw damaged("an extended header that is none", member.start);
        }
        return size;
    }

    /// The block before a member.
    private static final class Header {
        private final byte[] block;
        private final String text;
        private final long position;

        Header(byte[] block, long position) {
            this.block = block;
            this.text = new String(block, ISO_8859_1);
            this.position = position;
            if (!text.startsWith(MAGIC, MAGIC_AT) || number(field(text, SUM_AT, 8), 8, position) != sum()) {
                throw damaged("a header whose checksum is wrong", position);
            }
        }

        private long sum() {
            long sum = 0;
            for (int i = 0; i < BLOCK; i++) {
                sum += i >= SUM_AT && i < SUM_END ? ' ' : Byte.toUnsignedInt(block[i]);
            }
            return sum;
        }

        String name() {
            return plain(field(text, 0, NAME_LENGTH));
        }

        char type() {
            return text.charAt(TYPE_AT);
        }

        long size(OptionalLong extended) {
            if (extended.isPresent()) {
                return extended.getAsLong();
            }
            if (Byte.toUnsignedInt(block[SIZE_AT]) < BINARY) {
                return number(field(text, SIZE_AT, SIZE_LENGTH), 8, position);
            }
            long size = 0;
            for (int i = SIZE_AT + 1; i < SIZE_AT + SIZE_LENGTH; i++) {
                if (size >>> (Long.SIZE - 9) != 0) {
                    throw damaged("a size of more than 2^63-1 bytes", position);
                }
                size = size << 8 | Byte.toUnsignedInt(block[i]);
            }
            return size;
        }
    }

    private static boolean isZero(byte[] block) {
        for (byte value : block) {
            if (value != 0) {
                return false;
            }
        }
        return true;
    }

    private static String field(String block, int from, int length) {
        String field = block.substring(from, from + length);
        int end = field.indexOf(0);
        return end < 0 ? field : field.substring(0, end);
    }

    private static String plain(String name) {
        return name.startsWith("./") ? name.substring(2) : name;
    }

    private static long number(String digits, int radix, long position) {
        try {
            long number = Long.parseLong(digits.strip(), radix);
            if (number >= 0) {
                return number;
            }
        } catch (NumberFormatException _) {
            // Said below.
        }
        throw damaged("a number that is none: " + FormatException.quote(digits), position);
    }

    private static FormatException damaged(String what, long offset) {
        return new FormatException("TORCH-TAR", "the tar archive has " + what, offset, PickleFault.DAMAGED);
    }
}
