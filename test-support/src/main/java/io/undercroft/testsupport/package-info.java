/// Helpers for the tests of several modules.
package io.undercroft.testsupport;
