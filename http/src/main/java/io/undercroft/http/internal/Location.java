package io.undercroft.http.internal;

import io.undercroft.mmap.RemoteFileException;
import io.undercroft.mmap.RemoteFileException.Kind;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/// The URI of a file, which has a scheme and a host, and neither credentials nor a fragment. As text it has no query
/// either, which may contain a signature.
///
/// @param uri the URI, in ASCII
record Location(URI uri) {
    private static final String HTTPS = "https";
    private static final int HTTPS_PORT = 443;
    private static final int HTTP_PORT = 80;
    private static final Set<String> THIS_HOST = Set.of("localhost", "127.0.0.1", "[::1]");
    private static final Set<String> NOT_NAMES = Set.of("", ".", "..");

    /// {@return the location that a URI means}
    ///
    /// @param uri an `https` or `http` URI
    /// @throws IllegalArgumentException if it has no host, or has credentials; the message has none of them
    static Location of(URI uri) {
        String scheme = String.valueOf(uri.getScheme()).toLowerCase(Locale.ROOT);
        if (!scheme.equals(HTTPS) && !scheme.equals("http")) {
            throw new IllegalArgumentException("a web server is named by an https URI, not by one of " + scheme);
        }
        if (uri.getHost() == null || uri.getHost().isEmpty()) {
            throw new IllegalArgumentException("the URI of a web server has a host: https://host/path");
        }
        if (uri.getRawUserInfo() != null) {
            throw new IllegalArgumentException("the URI of " + uri.getHost() + " contains credentials; leave them out, "
                    + "and give a token with the setting " + HttpProvider.TOKEN);
        }
        String path = uri.getRawPath() == null || uri.getRawPath().isEmpty() ? "/" : uri.getRawPath();
        String query = uri.getRawQuery() == null ? "" : "?" + uri.getRawQuery();
        String text = scheme + "://" + uri.getRawAuthority() + path + query;
        return new Location(URI.create(URI.create(text).toASCIIString()));
    }

    boolean isEncrypted() {
        return HTTPS.equals(uri.getScheme());
    }

    boolean isThisHost() {
        return THIS_HOST.contains(host());
    }

    boolean isHost(String name) {
        return host().equals(name);
    }

    private String host() {
        return uri.getHost().toLowerCase(Locale.ROOT);
    }

    /// {@return whether another location has the same scheme, host and port}
    ///
    /// @param other the other location
    boolean isSameOrigin(Location other) {
        return uri.getScheme().equals(other.uri.getScheme()) && host().equals(other.host()) && port() == other.port();
    }

    private int port() {
        return uri.getPort() >= 0 ? uri.getPort() : isEncrypted() ? HTTPS_PORT : HTTP_PORT;
    }

    /// {@return where a redirect leads}
    ///
    /// @param target the value of the header `Location`
    /// @throws IllegalArgumentException if it is no URI of a web server
    Location redirected(String target) {
        return of(uri.resolve(URI.create(target)));
    }

    /// {@return a file below the directory of this one, without the query of this one}
    ///
    /// @param path its path there, with `/` between its parts
    /// @throws RemoteFileException if the path leads out of the directory
    Location sibling(String path) throws RemoteFileException {
        List<String> names = List.of(path.split("/", -1));
        if (names.stream().anyMatch(NOT_NAMES::contains)) {
            throw new RemoteFileException(toString(), Kind.UNSUPPORTED,
                    "it names a file that is not below its directory; the file is damaged or hostile", null);
        }
        StringBuilder text = new StringBuilder(uri.getScheme()).append("://").append(uri.getRawAuthority())
                .append(uri.getRawPath(), 0, uri.getRawPath().lastIndexOf('/'));
        for (String name : names) {
            text.append(encoded('/' + name));
        }
        return of(URI.create(text.toString()));
    }

    private static String encoded(String part) {
        try {
            return new URI(null, null, part, null).toASCIIString();
        } catch (URISyntaxException impossible) {
            throw new IllegalArgumentException("no URI can have such a path", impossible);
        }
    }

    @Override
    public String toString() {
        return uri.getScheme() + "://" + uri.getRawAuthority() + uri.getRawPath()
                + (uri.getRawQuery() == null ? "" : "?…");
    }
}
