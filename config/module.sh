# Sourced by the scripts that run the programs of a module: finds the JDK as croft does, builds the module when its
# sources have changed, and starts a class of it.

repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
java_home=$("$repo/croft" --java-home)

# build_module MODULE MAVEN_OPTION...
build_module() {
    local module=$1 target=$repo/$1/target
    shift
    local sources=("$repo"/pom.xml "$repo"/*/pom.xml "$repo"/*/src)
    # The stamp has the options of its build: one that left tests out lacks their classes.
    if [[ -f $target/built && ( $(<"$target/built") == "$*" || $(<"$target/built") == -DskipTests ) &&
        -z $(find "${sources[@]}" -newer "$target/built" -print -quit) ]]; then
        return
    fi
    echo "$module: building, which takes a minute or two the first time ..." >&2
    mkdir -p "$target"
    # Sources that change while it builds are newer than this.
    echo "$*" >"$target/started"
    # The standard input is that of the program that is started.
    if ! (cd "$repo" && JAVA_HOME=$java_home mvn -B -q "$@" -pl "$module" -am package) \
        </dev/null >"$target/build.log" 2>&1; then
        cat "$target/build.log" >&2
        exit 1
    fi
    mv "$target/started" "$target/built"
}

# start_module MODULE CLASSES MAIN ARGUMENT...   replaces this shell
# Memory off the heap that nobody holds any more goes back when the garbage collector runs, which it does at the latest
# when there would be more of it than module_memory.
start_module() {
    local module=$1 classes=$2 main=$3
    shift 3
    exec "$java_home/bin/java" --enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow \
        -XX:MaxDirectMemorySize="${module_memory:-1024g}" -Dundercroft.repository="$repo" \
        -cp "$repo/$module/target/$classes:$(<"$repo/$module/target/classpath")" "$main" "$@"
}
