/// What the jar of MinLog lacks.
module com.esotericsoftware.minlog {
    exports com.esotericsoftware.minlog;
}
