package io.undercroft.properties.torch7;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/// The storages that Lua holds, and when it releases them: at `collectgarbage()`, as soon as no variable leads there.
final class LuaHeap {
    private List<StorageObject> held = new ArrayList<>();

    StorageObject keep(StorageObject object) {
        held.add(object);
        return object;
    }

    /// Gives back the references of all objects but those that are still reached.
    ///
    /// Tells objects apart by identity: two of them may hold the same storage.
    void collectAllBut(Collection<?> reached) {
        List<StorageObject> kept = new ArrayList<>();
        List<StorageObject> lost = new ArrayList<>();
        held.forEach(object -> (reached.contains(object) ? kept : lost).add(object));
        held = kept;
        lost.forEach(StorageObject::release);
    }
}
