/// What the tests of several modules use.
package io.undercroft.testsupport;
