/// Files on web servers, read by range requests with the HTTP client of the JDK.
@NullMarked
package io.undercroft.http.internal;

import org.jspecify.annotations.NullMarked;
