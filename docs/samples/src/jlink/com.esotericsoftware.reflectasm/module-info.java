/// What the jar of ReflectASM lacks.
module com.esotericsoftware.reflectasm {
    exports com.esotericsoftware.reflectasm;
}
