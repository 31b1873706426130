# How croft starts Java. Sourced by the script `croft` of the repository, and part of bin/croft of the archive.
#
# java_home is the JDK or the Java runtime, lib the directory of the jars, caches the directory of the AOT caches.
#
#   CROFT_CLASSPATH   more jars, for instance those of Hadoop: CROFT_CLASSPATH=$(hadoop classpath --glob)

# The serial collector starts fastest. Tensors are off the heap: the machine limits them, not the size of the heap.
flags="--enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow
    -XX:+UseSerialGC -XX:MaxDirectMemorySize=1024g"
# Caches are made with compressed references, which Java would not use on a machine with 128 GiB or more. With a heap
# that is too large for them it would print a warning.
case ${JAVA_TOOL_OPTIONS:-} in
    *-Xmx* | *-XX:MaxHeapSize*) ;;
    *) flags="$flags -XX:+UseCompressedOops" ;;
esac

# Java encodes file names by the locale; without one it would refuse names that are not ASCII.
case ${LC_ALL:-${LC_CTYPE:-${LANG:-}}} in
    *[Uu][Tt][Ff]8 | *[Uu][Tt][Ff]-8) ;;
    *) export LC_ALL=C.UTF-8 ;;
esac

# Sets cache, and the flags for it. A JVM loads all classes of its cache when it starts, so commands that only read the
# index of a file have a cache of their own. They start faster with the C1 compiler alone; C2 pays off if many bytes are
# read.
choose_cache() {
    case "$*" in
        cuda-check* | inspect*--hash* | extract*" -o "* | verify* | diff* | dedup* | convert* | append* | compact* | \
            salvage* | "shm publish"* | quickstart* | train-bulk*) cache=bulk ;;
        *) cache=short flags="$flags -XX:TieredStopAtLevel=1" ;;
    esac
}

# Makes the caches: the classes that the commands load, loaded and linked. Without them everything works, but slower.
make_caches() {
    rm -rf "$caches/training"
    mkdir "$caches/training"
    # The second training run uses files of the first.
    for cache in bulk short; do
        rm -f "$caches/$cache.aot"
        (
            choose_cache "train-$cache"
            # With the profiles of a training run, the JVM would compile methods that a short command calls few times.
            [ "$cache" = bulk ] ||
                flags="$flags -XX:+IgnoreUnrecognizedVMOptions -XX:+UnlockDiagnosticVMOptions -XX:-AOTRecordTraining"
            # shellcheck disable=SC2086 # several flags
            "$java_home/bin/java" $flags -XX:AOTCacheOutput="$caches/new.aot" -jar "$lib/undercroft-cli.jar" \
                "train-$cache" "$caches/training" || true
        )
        [ ! -f "$caches/new.aot" ] || mv "$caches/new.aot" "$caches/$cache.aot"
    done
    rm -rf "$caches/training"
}

# Replaces this shell by the command. A cache that does not fit this Java is ignored silently.
start_java() {
    choose_cache "$@"
    # Java cannot ask a terminal for its width.
    if [ -z "${COLUMNS:-}" ] && [ -t 1 ] && { size=$(stty size <&3 2>/dev/null); } 3>&1; then
        export COLUMNS="${size#* }"
    fi
    # The archive has only the cache for short commands.
    [ -f "$caches/$cache.aot" ] || cache=short
    # hexdump alone has Chronicle and its logger, which would come before that of Hadoop.
    more=${CROFT_CLASSPATH:-}
    [ "${1:-}" != hexdump ] || more=$lib/hexdump/*${more:+:$more}
    # A cache may be used with a longer class path than the one that it was made with.
    if [ -n "$more" ]; then
        set -- -cp "$lib/undercroft-cli.jar:$more" io.undercroft.cli.Croft "$@"
    else
        set -- -jar "$lib/undercroft-cli.jar" "$@"
    fi
    # shellcheck disable=SC2086 # several flags
    exec "$java_home/bin/java" $flags -XX:AOTCache="$caches/$cache.aot" -Xlog:disable "$@"
}
