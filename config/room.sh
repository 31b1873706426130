# Sourced by the scripts that run a room's programs: finds the JDK as croft does, builds the room when its sources have
# changed, and starts a class of it.

repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
java_home=$("$repo/croft" --java-home)

# build_room ROOM MAVEN_OPTION...
build_room() {
    local room=$1 target=$repo/$1/target
    shift
    local sources=("$repo"/pom.xml "$repo"/*/pom.xml "$repo"/*/src)
    if [[ -f $target/built && -z $(find "${sources[@]}" -newer "$target/built" -print -quit) ]]; then
        return
    fi
    echo "$room: building, which takes a minute or two the first time ..." >&2
    mkdir -p "$target"
    # Sources that change while it builds are newer than this.
    touch "$target/started"
    if ! (cd "$repo" && JAVA_HOME=$java_home mvn -B -q "$@" -pl "$room" -am package) >"$target/build.log" 2>&1; then
        cat "$target/build.log" >&2
        exit 1
    fi
    mv "$target/started" "$target/built"
}

# start_room ROOM CLASSES MAIN ARGUMENT...   replaces this shell
# Memory off the heap that nobody holds any more goes back when the garbage collector runs, which it does at the latest
# when there would be more of it than room_memory.
start_room() {
    local room=$1 classes=$2 main=$3
    shift 3
    exec "$java_home/bin/java" --enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow \
        -XX:MaxDirectMemorySize="${room_memory:-1024g}" \
        -cp "$repo/$room/target/$classes:$(<"$repo/$room/target/classpath")" "$main" "$@"
}
