package io.undercroft.testsupport;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;

/// A port of this host, which the system gives to no other program as a free one until this is closed. Connections to
/// it are refused, unless this program listens there. A number that is known from a socket that was closed may be that
/// of a server of another program a moment later.
public final class ReservedPort implements AutoCloseable {
    private final Socket socket;

    private ReservedPort(Socket socket) {
        this.socket = socket;
    }

    /// Reserves a free port.
    public static ReservedPort any() throws IOException {
        Socket socket = new Socket();
        // So that a server of this program may listen there.
        socket.setReuseAddress(true);
        socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        return new ReservedPort(socket);
    }

    /// The address of the port.
    public InetSocketAddress address() {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), number());
    }

    /// The number of the port.
    public int number() {
        return socket.getLocalPort();
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
