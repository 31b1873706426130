// The data has the tensors and storages that `croft inspect --json` prints, with their places in the file. All of it is
// untrusted: it is put into the page as text nodes only, never as markup.

const element = id => document.getElementById(id);
const data = JSON.parse(element("data").textContent);
element("data").remove();

const FILE = 0, BASE = 1, NOWHERE = 2;

// The files of the page follow one another: offsets are those in all of them.
const files = data.file.files;
files.forEach((file, i) => { file.start = i === 0 ? 0 : files[i - 1].start + files[i - 1].nbytes; });

function fileAt(offset) {
    let low = 0, high = files.length - 1;
    while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (files[middle].start <= offset) low = middle; else high = middle - 1;
    }
    return files[low];
}

// ---- texts

const number = n => Number.isSafeInteger(n) ? n.toLocaleString("en") : "about " + Number(n).toPrecision(4);

function bytes(n) {
    if (n < 1024) return n + " B";
    let value = n, unit = -1;
    while (value >= 1023.95 && unit < 5) { value /= 1024; unit++; }
    return value.toFixed(1) + " " + ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"][unit];
}

const count = (n, noun) => number(n) + " " + noun + (n === 1 ? "" : "s");
const plain = text => String(text).replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu,
    c => "\\u{" + c.codePointAt(0).toString(16) + "}");
const figure = x => Number.isInteger(x) ? number(x) : String(Number(x.toPrecision(7)));
const place = offset => {
    const file = fileAt(offset);
    return "byte " + number(Math.floor(offset - file.start)) + (files.length > 1 ? " of " + plain(file.name) : "");
};
const isCompressed = storage => (storage.extents ?? []).some(extent => extent.length > 4);
const shape = t => "[" + t.shape.join(", ") + "]";

function make(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
        if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
        else if (value !== null) made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
}

const facts = pairs => make("dl", {}, ...pairs.filter(([, value]) => value !== null)
    .flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));

// ---- tensors and storages

const elementsOf = t => [t.offset, t.shape, t.stride, t.dtype].join("|");

const storages = data.storages;
const tensors = data.tensors;
const byId = new Map(storages.map(storage => [storage.id, storage]));
storages.forEach((storage, i) => { storage.position = i; storage.users = []; });
tensors.forEach((tensor, i) => {
    tensor.position = i;
    tensor.numel = tensor.shape.reduce((all, size) => all * size, 1);
    tensor.bits = data.bits[tensor.dtype];
    tensor.nbytes = Math.ceil(tensor.numel * tensor.bits / 8);
    const last = tensor.shape.reduce((sum, size, dim) => sum + (size - 1) * tensor.stride[dim], tensor.offset);
    tensor.from = tensor.offset * tensor.bits / 8;
    tensor.to = tensor.numel === 0 ? tensor.from : (last + 1) * tensor.bits / 8;
    tensor.how = "";
    tensor.on = tensor.unreadable ? undefined : byId.get(tensor.storage);
    if (tensor.on) tensor.on.users.push(tensor);
});
storages.forEach(markSharing);

// Marks tensors that have the same elements as another one, and tensors with spans that overlap.
function markSharing(storage) {
    if (storage.users.length < 2) return;
    const same = new Map();
    for (const t of storage.users) same.set(elementsOf(t), (same.get(elementsOf(t)) ?? 0) + 1);
    const ordered = storage.users.filter(t => t.to > t.from).sort((a, b) => a.from - b.from || a.to - b.to);
    let furthest = null;
    for (const t of ordered) {
        if (furthest && t.from < furthest.to) t.how = furthest.how = "overlap";
        if (!furthest || t.to > furthest.to) furthest = t;
    }
    for (const t of storage.users) if (same.get(elementsOf(t)) > 1) t.how = "same";
}

const howText = { "": "", same: "tied", overlap: "overlaps" };

// Returns how two tensors on one storage are related.
function relation(a, b) {
    if (elementsOf(a) === elementsOf(b)) return "same";
    return a.from < b.to && b.from < a.to ? "overlap" : "";
}

// Spans that overlap are drawn in lanes below one another, up to the maximum number of lanes.
function lanes(users, most) {
    const ends = [];
    const placed = [...users].sort((a, b) => a.from - b.from || b.to - a.to).map(t => {
        let lane = ends.findIndex(end => end <= t.from);
        if (lane < 0) lane = Math.min(ends.length, most - 1);
        ends[lane] = Math.max(ends[lane] ?? 0, t.to);
        return { t, lane };
    });
    return { placed, lanes: Math.max(1, ends.length) };
}

function where(storage) {
    if (storage.device === "meta") return "no bytes";
    if (storage.scattered) return count(storage.scattered, "run");
    if (storage.nbytes === 0) return "empty";
    if (storage.extents.length === 0) return "not known";
    const places = storage.extents.filter(extent => extent[2] !== NOWHERE);
    if (places.length === 0) return "zeros, not stored";
    const other = places.some(extent => extent[2] === BASE) ? ", other file" : "";
    const at = places[0][3], file = fileAt(at);
    return (places.length === 1 ? "at " + number(at - file.start) : places.length + " runs") + other
        + (files.length > 1 && !other ? " of " + plain(file.name) : "");
}

// ---- colours and canvases

const colour = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name);
let colours = {};

// light-dark() is resolved only where it is used as a colour, so each colour is read from an element that uses it.
function readColours() {
    const probe = document.body.appendChild(document.createElement("i"));
    for (const name of ["data", "other-data", "same", "overlap", "header", "index", "commit", "other", "free", "ink",
        "accent", "line"]) {
        probe.style.color = "var(--" + name + ")";
        colours[name] = getComputedStyle(probe).color;
    }
    probe.remove();
}

function context(canvas, width, height) {
    const scale = devicePixelRatio || 1;
    canvas.width = Math.max(1, Math.round(width * scale));
    canvas.height = Math.max(1, Math.round(height * scale));
    const drawn = canvas.getContext("2d");
    drawn.scale(scale, scale);
    return drawn;
}

function drawSpans(canvas, storage, chosen, heightOf, most) {
    const arranged = lanes(storage.users, most);
    const laneHeight = heightOf(arranged.lanes);
    const height = arranged.lanes * laneHeight;
    canvas.style.height = height + "px";
    const width = canvas.clientWidth || canvas.parentElement.clientWidth;
    const drawn = context(canvas, width, height);
    const scale = width / Math.max(1, storage.nbytes);
    arranged.placed.forEach(({ t, lane }, i) => {
        drawn.fillStyle = t.how ? colours[t.how] : colours[i % 2 ? "other-data" : "data"];
        drawn.fillRect(t.from * scale, lane * laneHeight + 1, Math.max(1.5, (t.to - t.from) * scale - 0.5),
            laneHeight - 2);
    });
    for (const { t, lane } of arranged.placed.filter(each => each.t === chosen)) {
        drawn.strokeStyle = colours.ink;
        drawn.lineWidth = 2;
        drawn.strokeRect(t.from * scale + 1, lane * laneHeight + 2, Math.max(2, (t.to - t.from) * scale - 2),
            laneHeight - 4);
    }
}

// ---- the map

const KINDS = {
    header: ["Header", "header"],
    commit_record: ["Commit record", "commit"],
    commit_slots: ["Commit slots", "commit"],
    index: ["Index", "index"],
    data: ["Storage", "data"],
    shared: ["Bytes of several storages", "same"],
    rest: ["Storages that this page does not list", "other-data"],
    other: [data.format === "croft" ? "Padding, and other snapshots if there are any"
        : "Headers of parts, padding, or not used", "other"],
    free: ["Free", "free"],
};

const segments = makeSegments();
const map = { canvas: element("map").firstElementChild, from: 0, to: Math.max(1, data.file.nbytes), at: -1 };

// Returns the parts of the file in order, without gaps. Ranges that overlap and are not equal are split.
function makeSegments() {
    const ranges = data.regions.map(r => ({ from: r.offset, to: r.offset + r.nbytes, kind: r.kind }));
    for (const storage of storages) {
        for (const [start, nbytes, place, offset, stored] of storage.extents ?? []) {
            const to = offset + (stored ?? nbytes);
            if (place === FILE) ranges.push({ from: offset, to, kind: "data", storage, start, stored, nbytes });
        }
    }
    for (const [from, to] of data.left_out_ranges) ranges.push({ from, to, kind: "rest" });
    ranges.sort((a, b) => a.from - b.from || a.to - b.to);
    const all = [];
    const knowsRegions = data.regions.length > 0;
    let end = 0, next = 1;
    // What is in front of the first storage of a file is its header.
    const gap = to => {
        while (end < to) {
            while (next < files.length && files[next].start <= end) next++;
            const until = Math.min(to, files[next]?.start ?? to);
            const isHeader = fileAt(end).start === end && !knowsRegions && ranges.length > 0;
            all.push({ from: end, to: until, kind: isHeader ? "header" : "other" });
            end = until;
        }
    };
    for (const range of ranges) {
        gap(Math.min(range.from, data.file.nbytes));
        const last = all.at(-1);
        if (last && range.from < end && range.kind === "data" && last.kind !== "rest") {
            last.kind = last.storage ? "shared" : last.kind;
            last.sharers = (last.sharers ?? 1) + 1;
        }
        if (range.to > end) {
            range.from = end;
            all.push(range);
            end = range.to;
        }
    }
    gap(data.file.nbytes);
    return all;
}

function segmentAt(offset) {
    let low = 0, high = segments.length - 1;
    while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (segments[middle].from <= offset) low = middle; else high = middle - 1;
    }
    return low;
}

function drawMap() {
    const width = map.canvas.clientWidth, height = map.canvas.clientHeight;
    const drawn = context(map.canvas, width, height);
    const scale = width / (map.to - map.from);
    const x = offset => (offset - map.from) * scale;
    const chosen = selected && (selected.on ?? (selected.users ? selected : undefined));
    const marked = [];
    let shade = 0, drawnTo = -1;
    for (let i = segmentAt(map.from); i < segments.length && segments[i].from < map.to; i++) {
        const part = segments[i];
        const left = Math.max(0, x(part.from)), right = Math.min(width, x(part.to));
        if (part.storage && part.storage === chosen) marked.push([left, right]);
        if (i === map.at) marked.push([left, right, true]);
        if (right - drawnTo < 0.25 && part.kind !== "header" && part.kind !== "index") continue;
        shade ^= part.kind === "data" ? 1 : 0;
        drawn.fillStyle = colours[part.kind === "data" && shade ? "other-data" : KINDS[part.kind][1]];
        drawn.fillRect(left, 0, Math.max(0.75, right - left), height);
        drawnTo = right;
    }
    for (const [left, right, isHere] of marked) {
        drawn.fillStyle = colours.ink;
        drawn.fillRect(left - 1, isHere ? 0 : height - 6, Math.max(3, right - left + 2), isHere ? 5 : 6);
    }
    const [from, to] = element("map-range").children;
    from.textContent = place(map.from);
    to.textContent = number(Math.ceil(map.to) - fileAt(map.to - 1).start)
        + (map.from > 0 || map.to < data.file.nbytes ? ", " + bytes(map.to - map.from) + " of "
            + bytes(data.file.nbytes) : files.length > 1 ? " of " + plain(files.at(-1).name) : "");
}

function describe(part) {
    const size = bytes(part.to - part.from) + (part.stored ? " of " + bytes(part.nbytes) + " compressed" : "")
        + " at " + place(part.from);
    if (!part.storage) return KINDS[part.kind][0] + ", " + size;
    const names = part.storage.users.slice(0, 3).map(t => plain(t.name)).join(", ");
    const more = part.storage.tensors > 3 ? " and " + (part.storage.tensors - 3) + " more" : "";
    return "Storage " + part.storage.id + (part.sharers ? " and others, these bytes are stored once" : "") + ", "
        + size + (names ? ": " + names + more : "");
}

function go(to) {
    map.at = Math.max(0, Math.min(segments.length - 1, to));
    const part = segments[map.at];
    if (!part) return;
    const width = map.to - map.from;
    if (part.to <= map.from || part.from >= map.to) view(part.from - width / 2, width);
    element("map-status").textContent = describe(part);
    drawMap();
}

function view(from, width) {
    const all = Math.max(1, data.file.nbytes);
    const bounded = Math.min(all, Math.max(16, width));
    map.from = Math.max(0, Math.min(all - bounded, from));
    map.to = map.from + bounded;
    drawMap();
}

function zoom(factor) {
    const part = segments[map.at];
    const width = map.to - map.from;
    const middle = part && part.to > map.from && part.from < map.to
        ? (Math.max(part.from, map.from) + Math.min(part.to, map.to)) / 2 : (map.from + map.to) / 2;
    view(middle - width * factor / 2, width * factor);
}

function prepareMap() {
    if (files.length > 1) {
        element("map-title").textContent = "Map of " + count(files.length, "file");
        element("zoom-all").textContent = "All files";
    }
    if (segments.length === 0) {
        element("map-section").hidden = true;
        return;
    }
    const box = element("map");
    const at = event => segmentAt(map.from + event.offsetX / map.canvas.clientWidth * (map.to - map.from));
    box.addEventListener("mousemove", event => {
        element("map-status").textContent = describe(segments[at(event)]);
    });
    box.addEventListener("mouseleave", () => {
        element("map-status").textContent = map.at < 0 ? "" : describe(segments[map.at]);
    });
    box.addEventListener("click", event => { go(at(event)); open(segments[map.at]); });
    box.addEventListener("wheel", event => {
        if (event.deltaX) {
            event.preventDefault();
            view(map.from + event.deltaX / map.canvas.clientWidth * (map.to - map.from), map.to - map.from);
        }
    }, { passive: false });
    const open = part => { if (part?.storage) select(part.storage); };
    const keys = {
        ArrowRight: () => go(map.at + 1), ArrowLeft: () => go(map.at - 1), Home: () => go(0),
        End: () => go(segments.length - 1), "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2),
        0: () => view(0, data.file.nbytes), Enter: () => open(segments[map.at]),
    };
    box.addEventListener("keydown", event => {
        const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
        if (act) {
            event.preventDefault();
            act();
        }
    });
    element("zoom-in").addEventListener("click", () => zoom(0.5));
    element("zoom-out").addEventListener("click", () => zoom(2));
    element("zoom-all").addEventListener("click", () => view(0, data.file.nbytes));
    legend();
}

function legend() {
    const sums = new Map();
    for (const part of segments) {
        const sum = sums.get(part.kind) ?? { n: 0, nbytes: 0 };
        sum.n++;
        sum.nbytes += part.to - part.from;
        sums.set(part.kind, sum);
    }
    for (const [kind, sum] of sums) {
        const [name, ink] = KINDS[kind];
        const key = make("span", { class: "key" });
        key.style.background = "var(--" + ink + ")";
        element("legend").append(make("li", {}, key, name + ": " + bytes(sum.nbytes) + " ("
            + (100 * sum.nbytes / data.file.nbytes).toFixed(1) + " %)" + (sum.n > 1 ? " in " + number(sum.n) : "")));
    }
}

// ---- the list

const text = (className, get) => entry => make("span", { class: className }, get(entry));

function spanBar(tensor) {
    const bar = make("span", { class: "span-bar tensor-bar" });
    if (tensor.on && tensor.on.nbytes > 0) {
        const span = make("i", { class: tensor.how });
        span.style.left = Math.min(99, 100 * tensor.from / tensor.on.nbytes) + "%";
        span.style.width = Math.min(100, 100 * (tensor.to - tensor.from) / tensor.on.nbytes) + "%";
        bar.append(span);
    }
    return bar;
}

function storageBar(storage) {
    const bar = make("span", { class: "lanes" }, make("canvas", {}));
    bar.draw = () => drawSpans(bar.firstChild, storage, selected, lanes => Math.floor(20 / lanes), 4);
    return bar;
}

const compareText = get => (a, b) => get(a) < get(b) ? -1 : get(a) > get(b) ? 1 : 0;
const compareNumber = get => (a, b) => get(a) - get(b);
const VIEWS = {
    tensors: {
        entries: tensors,
        columns: [
            ["Name", "name", t => plain(t.name), compareText(t => t.name)],
            ["dtype", "dtype", t => t.unreadable ? "unreadable" : plain(t.dtype), compareText(t => t.dtype)],
            ["Shape", "shape", t => t.unreadable ? "" : shape(t), compareNumber(t => t.numel)],
            ["Bytes", "number", t => t.unreadable ? "" : bytes(t.nbytes), compareNumber(t => t.nbytes)],
            ["Storage", "number place", t => t.on ? String(t.storage) : "",
                (a, b) => (a.storage ?? -1) - (b.storage ?? -1) || a.from - b.from],
            ["Shares", "how", t => howText[t.how], compareText(t => t.how)],
        ],
        bar: ["In its storage", spanBar],
        haystack: t => [t.name, ...(t.aliases ?? []), t.dtype, shape(t)].join(" ").toLowerCase(),
        isOn: (t, id) => t.on !== undefined && t.storage === id,
    },
    storages: {
        entries: storages,
        columns: [
            ["Storage", "number", s => String(s.id), compareNumber(s => s.id)],
            ["Bytes", "number", s => bytes(s.nbytes), compareNumber(s => s.nbytes)],
            ["Stored", "number stored", s => s.disk_nbytes === null ? "" : bytes(s.disk_nbytes),
                compareNumber(s => s.disk_nbytes ?? -1)],
            ["Device", "device", s => plain(s.device), compareText(s => s.device)],
            ["Tensors", "number", s => number(s.tensors), compareNumber(s => s.tensors)],
            ["In the file", "where", where, compareNumber(s => s.extents?.[0]?.[3] ?? -1)],
        ],
        bar: ["Tensors in it, to scale", storageBar],
        haystack: s => [s.id, s.device, ...s.users.slice(0, 100).map(t => t.name)].join(" ").toLowerCase(),
        isOn: (s, id) => s.id === id,
    },
};
const list = { name: "tensors", shown: tensors, active: -1, column: -1, descending: false };
let selected = null;

function show(name) {
    list.name = name;
    document.body.className = name;
    element("show-tensors").setAttribute("aria-pressed", name === "tensors");
    element("show-storages").setAttribute("aria-pressed", name === "storages");
    element("list").setAttribute("aria-label", name === "tensors" ? "Tensors" : "Storages");
    list.column = -1;
    list.descending = false;
    arrange();
}

function columns() {
    const shown = VIEWS[list.name];
    const heads = shown.columns.map(([title, className], i) => {
        const isSorted = list.column === i;
        return make("button", { type: "button", class: className, "aria-pressed": isSorted, onclick: () => sortBy(i) },
            title + (isSorted ? list.descending ? " ▼" : " ▲" : ""));
    });
    element("columns").replaceChildren(...heads, make("span", { class: "tensor-bar" }, shown.bar[0]));
    // The list has a border, and perhaps a scroll bar.
    const box = element("list"), border = (box.offsetWidth - box.clientWidth) || 0;
    element("columns").style.marginLeft = box.clientLeft + "px";
    element("columns").style.marginRight = Math.max(0, border - box.clientLeft) + "px";
}

// Sorts ascending, then descending, then in the order of the file.
function sortBy(column) {
    if (list.column !== column) {
        list.column = column;
        list.descending = false;
    } else if (!list.descending) {
        list.descending = true;
    } else {
        list.column = -1;
    }
    arrange();
    element("columns").children[column].focus();
}

function arrange() {
    const shown = VIEWS[list.name];
    const terms = element("search").value.toLowerCase().split(/\s+/).filter(term => term !== "");
    const ids = terms.flatMap(term => /^storage:\d+$/.test(term) ? [Number(term.slice(8))] : []);
    const words = terms.filter(term => !/^storage:\d+$/.test(term));
    list.shown = shown.entries.filter(entry => ids.every(id => shown.isOn(entry, id))
        && (words.length === 0 || words.every(word => (entry.haystack ??= shown.haystack(entry)).includes(word))));
    if (list.column >= 0) {
        const compare = shown.columns[list.column][3];
        list.shown.sort((a, b) => (list.descending ? compare(b, a) : compare(a, b)) || a.position - b.position);
    }
    element("found").textContent = list.shown.length === shown.entries.length
        ? count(list.shown.length, list.name.slice(0, -1))
        : number(list.shown.length) + " of " + number(shown.entries.length);
    list.active = list.shown.indexOf(selected);
    columns();
    const rowHeight = row();
    element("rows").style.height = list.shown.length * rowHeight + "px";
    if (list.active >= 0) reveal(list.active); else element("list").scrollTop = 0;
    rows();
}

const row = () => parseFloat(colour("row"));

function rows() {
    const box = element("list"), height = row(), shown = VIEWS[list.name];
    const first = Math.max(0, Math.floor(box.scrollTop / height) - 4);
    const last = Math.min(list.shown.length, Math.ceil((box.scrollTop + box.clientHeight) / height) + 4);
    const made = [];
    for (let i = first; i < last; i++) {
        const entry = list.shown[i];
        const cells = shown.columns.map(([, className, get]) =>
            text(className + (className === "how" ? " " + entry.how : ""), get)(entry));
        const one = make("div", {
            class: "row", role: "option", id: "row-" + i, "aria-selected": entry === selected,
            "aria-posinset": i + 1, "aria-setsize": list.shown.length,
            onclick: () => { activate(i); if (innerWidth < 900) element("detail-section").scrollIntoView(); },
        }, ...cells, shown.bar[1](entry));
        one.style.top = i * height + "px";
        made.push(one);
    }
    element("rows").replaceChildren(...made);
    made.forEach(one => one.lastChild.draw?.());
    if (list.active >= first && list.active < last) box.setAttribute("aria-activedescendant", "row-" + list.active);
    else box.removeAttribute("aria-activedescendant");
}

function reveal(i) {
    const box = element("list"), height = row();
    if (i * height < box.scrollTop) box.scrollTop = i * height;
    else if ((i + 1) * height > box.scrollTop + box.clientHeight) box.scrollTop = (i + 1) * height - box.clientHeight;
}

function activate(i) {
    if (list.shown.length === 0) return;
    list.active = Math.max(0, Math.min(list.shown.length - 1, i));
    selected = list.shown[list.active];
    reveal(list.active);
    rows();
    detail();
    drawMap();
}

// Shows an entry, and clears the search if it hides the entry.
function select(entry) {
    const name = entry.users ? "storages" : "tensors";
    selected = entry;
    if (list.name !== name) show(name);
    if (!list.shown.includes(entry)) {
        element("search").value = "";
        arrange();
    }
    activate(list.shown.indexOf(entry));
}

function prepareList() {
    const box = element("list");
    let pending = false;
    box.addEventListener("scroll", () => {
        if (pending) return;
        pending = true;
        requestAnimationFrame(() => { pending = false; rows(); });
    });
    const page = () => Math.max(1, Math.floor(box.clientHeight / row()) - 1);
    const keys = {
        ArrowDown: () => list.active + 1, ArrowUp: () => list.active - 1, PageDown: () => list.active + page(),
        PageUp: () => list.active - page(), Home: () => 0, End: () => list.shown.length - 1,
    };
    box.addEventListener("keydown", event => {
        if (event.key in keys && !event.ctrlKey && !event.metaKey && !event.altKey) {
            event.preventDefault();
            activate(keys[event.key]());
        } else if (event.key === "Enter" && selected) {
            event.preventDefault();
            element("detail").focus();
        }
    });
    let waiting;
    element("search").addEventListener("input", () => {
        clearTimeout(waiting);
        waiting = setTimeout(arrange, tensors.length > 5000 ? 200 : 0);
    });
    element("search").addEventListener("keydown", event => {
        if (event.key === "ArrowDown" || event.key === "Enter") {
            event.preventDefault();
            arrange();
            box.focus();
            activate(Math.max(0, list.active));
        }
    });
    element("show-tensors").addEventListener("click", () => show("tensors"));
    element("show-storages").addEventListener("click", () => show("storages"));
    addEventListener("keydown", event => {
        if (event.key === "/" && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) {
            event.preventDefault();
            element("search").focus();
            element("search").select();
        }
    });
}

// ---- the selected entry

const MOST_USERS = 50, MOST_LANES = 16;

function detail() {
    cancel();
    const box = element("detail");
    if (!selected) {
        box.replaceChildren(make("p", { class: "quiet" }, "Select an entry of the list to see it here."));
        return;
    }
    box.replaceChildren(...(selected.users ? storageDetail(selected) : tensorDetail(selected)));
    box.querySelectorAll("canvas").forEach(canvas => canvas.draw());
    if (!selected.users) startStatistics(selected);
}

function tensorDetail(tensor) {
    const head = make("h2", {}, plain(tensor.name) || "(the state itself)");
    if (tensor.unreadable) {
        return [head, make("p", {}, "Cannot be read: " + plain(tensor.unreadable.what) + " ["
            + plain(tensor.unreadable.code) + "]")];
    }
    const flags = ["requires_grad", "conj", "neg"].filter(flag => tensor[flag]).join(", ");
    return [head, facts([
        ["Also", tensor.aliases ? tensor.aliases.map(plain).join(", ") : null],
        ["dtype", plain(tensor.dtype)],
        ["Shape", shape(tensor) + ", " + count(tensor.numel, "element") + ", " + bytes(tensor.nbytes)],
        ["Stride", "[" + tensor.stride.join(", ") + "]"],
        ["Offset", count(tensor.offset, "element")],
        ["Flags", flags || null],
        ["SHA-256", tensor.sha256 ?? tensor.sha256_problem ?? null],
    ]), make("div", { id: "statistics" }), ...(tensor.on ? storageDetail(tensor.on, tensor)
        : [make("p", { class: "quiet" }, "Its storage is not in this page.")])];
}

function storageDetail(storage, tensor) {
    const title = "Storage " + storage.id;
    const canvas = make("canvas", {});
    canvas.draw = () => drawSpans(canvas, storage, tensor, lanes => lanes > 8 ? 10 : 14, MOST_LANES);
    const runs = (storage.extents ?? []).slice(0, 12).map(([start, nbytes, kind, offset, stored]) => bytes(nbytes)
        + (stored ? ", compressed to " + bytes(stored) : "") + (kind === NOWHERE ? " of zeros, which are not stored"
            : kind === BASE ? " at byte " + number(offset) + " of another file" : " at " + place(offset)) + (start > 0 ? ", from byte " + number(start) + " on" : ""));
    const more = (storage.extents ?? []).length - runs.length;
    const users = tensor ? [tensor, ...storage.users.filter(t => t !== tensor)] : storage.users;
    const parts = [
        make(tensor ? "h3" : "h2", {}, title),
        facts([
            ["Size", bytes(storage.nbytes) + (storage.nbytes < 1024 ? "" : " (" + number(storage.nbytes) + " bytes)")],
            ["Stored", storage.disk_nbytes === null ? null : bytes(storage.disk_nbytes)
                + (isCompressed(storage) ? ", compressed" : "")],
            ["Device", plain(storage.device)],
            ["In the file", runs.length > 0 ? runs.join("; ") + (more > 0 ? "; and " + more + " more" : "")
                : where(storage)],
            ["SHA-256", storage.sha256 ?? storage.sha256_problem ?? null],
        ]),
        make("h3", {}, count(storage.tensors, "tensor") + " on it"),
        make("div", { class: "storage-bar", role: "img", "aria-label": "The storage to scale, with a span for each "
            + "tensor; spans that overlap are below one another" }, canvas),
        make("div", { class: "ends" }, make("span", {}, "0"), make("span", {}, bytes(storage.nbytes))),
        make("ul", { class: "users" }, ...users.slice(0, MOST_USERS).map(t => user(t, tensor))),
    ];
    if (users.length > MOST_USERS) {
        parts.push(make("button", { type: "button", onclick: () => {
            element("search").value = "storage:" + storage.id;
            show("tensors");
            element("list").focus();
        } }, "All " + number(users.length) + " in the list"));
    }
    if (storage.tensors > users.length) {
        parts.push(make("p", { class: "quiet" }, number(storage.tensors - users.length)
            + " of them are not in this page."));
    }
    return parts;
}

function user(t, tensor) {
    const how = tensor && t !== tensor ? relation(t, tensor) : t.how;
    const note = tensor && t !== tensor && how === "" ? "separate bytes" : howText[how];
    return make("li", {}, make("button", { type: "button", "aria-current": t === tensor ? "true" : null,
        onclick: () => { select(t); element("detail").focus(); } }, plain(t.name) || "(the state itself)"),
    make("span", { class: "how " + how }, (t === tensor ? "" : note + " ") + plain(t.dtype) + " " + shape(t)));
}

// ---- statistics

const AUTOMATIC = 64 << 20;
let current = { cancelled: true };

const cancel = () => { current.cancelled = true; };

function startStatistics(tensor) {
    const box = element("statistics");
    if (!box) return;
    const why = obstacle(tensor);
    const say = what => box.replaceChildren(make("h3", {}, "Statistics"), make("p", { class: "quiet" }, what));
    if (why) { say(why); return; }
    const missing = [...new Set(tensor.on.extents.filter(extent => extent[2] === FILE)
        .map(extent => fileAt(extent[3])))].find(file => !source.has(file));
    if (missing) {
        say(files.length > 1 ? "Choose the file " + plain(missing.name) + " above to see them."
            : "Choose the file above to see them.");
        return;
    }
    const size = tensor.to - tensor.from;
    if (size <= AUTOMATIC) { compute(tensor, box); return; }
    box.replaceChildren(make("h3", {}, "Statistics"), make("button", { type: "button",
        onclick: () => compute(tensor, box) }, "Read " + bytes(size)));
}

async function compute(tensor, box) {
    const job = current = { cancelled: false };
    const note = make("p", { class: "quiet", role: "status" }, "Reading …");
    box.replaceChildren(make("h3", {}, "Statistics"), note);
    let shown = performance.now();
    try {
        const parts = isComplex(tensor.dtype) ? ["Real part", "Imaginary part"] : [""];
        const all = [make("h3", {}, "Statistics")];
        if (tensor.dtype.startsWith("q")) all.push(make("p", { class: "quiet" }, "Of the integers that are stored."));
        for (const [part, title] of parts.entries()) {
            const found = await statistics(tensor, part, job, done => {
                if (performance.now() - shown > 250) {
                    shown = performance.now();
                    note.textContent = "Reading … " + Math.floor(100 * (part + done) / parts.length) + " %";
                }
            });
            if (title) all.push(make("h4", {}, title));
            all.push(...statisticsDetail(found));
        }
        if (!job.cancelled) box.replaceChildren(...all);
    } catch (problem) {
        if (problem !== job) note.textContent = "The file cannot be read: " + problem.message;
    }
}

function statisticsDetail(found) {
    const none = found.numbers === 0;
    const shown = [facts([
        ["Minimum", none ? "none" : figure(found.min)],
        ["Maximum", none ? "none" : figure(found.max)],
        ["Mean", none ? "none" : figure(found.mean) + (found.nan ? ", without NaN" : "")],
        ["NaN", number(found.nan)],
        ["Infinite", number(found.infinite)],
    ])];
    if (found.bins.length === 0) return shown;
    const most = Math.max(...found.bins);
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", "0 0 " + found.bins.length + " 100");
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("class", "histogram");
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", "Histogram of the finite elements: " + count(found.bins.length, "bin")
        + ", the fullest with " + number(most));
    found.bins.forEach((n, i) => {
        const bar = document.createElementNS(svg.namespaceURI, "rect");
        const height = n === 0 ? 0 : Math.max(1, 100 * n / most);
        for (const [name, value] of Object.entries({ x: i + 0.05, y: 100 - height, width: 0.9, height })) {
            bar.setAttribute(name, value);
        }
        const title = document.createElementNS(svg.namespaceURI, "title");
        const width = (found.high - found.low) / found.bins.length;
        title.textContent = count(n, "element") + " from " + figure(found.low + i * width) + " on";
        bar.append(title);
        svg.append(bar);
    });
    shown.push(svg, make("div", { class: "ends" }, make("span", {}, figure(found.low)),
        make("span", {}, "fullest bin: " + number(most)), make("span", {}, figure(found.high))));
    return shown;
}

function prepareSource() {
    if (!tensors.some(t => !obstacle(t))) {
        element("source").replaceChildren("No statistics: the file does not store the bytes of any tensor of this "
            + "page as they are in memory.");
        return;
    }
    if (files.length > 1) {
        element("file").multiple = true;
        element("source-label").textContent = "To see statistics, choose some or all of the files:";
    }
    element("file").addEventListener("change", event => {
        const status = element("source-status");
        const wrong = [];
        if (files.length === 1) source.clear();
        for (const chosen of event.target.files) {
            const file = files.find(each => each.nbytes === chosen.size
                && (files.length === 1 || each.name === chosen.name));
            if (file) source.set(file, chosen); else wrong.push(chosen);
        }
        const [file] = event.target.files;
        status.className = wrong.length > 0 ? "wrong" : "";
        status.textContent = !file ? "" : wrong.length > 0
            ? (files.length > 1 ? plain(wrong[0].name) + " is none of the files of this page, or has another size."
                : "This is another file: it has " + number(file.size) + " bytes, not " + number(data.file.nbytes) + ".")
            : files.length > 1 ? count(source.size, "file") + " chosen. They are read by this page only, and not sent "
                + "anywhere."
            : data.file.modified !== undefined
                && Math.floor(file.lastModified / 1000) !== Math.floor(data.file.modified / 1000)
                ? "Its modification time differs from that of the file of this page: it is a copy, or it was changed."
                : "It is read by this page only, and not sent anywhere.";
        detail();
    });
}

// ---- the page

function notes() {
    const all = [];
    const leftOut = data.left_out;
    if (leftOut.tensors + leftOut.storages > 0) {
        all.push("This page has the first " + count(tensors.length, "tensor") + " and leaves out "
            + count(leftOut.tensors, "tensor") + " and " + count(leftOut.storages, "storage")
            + ", so that a browser can open it. croft inspect --json prints all.");
    }
    for (const [kind, what] of Object.entries({ regions: "part of the map", values: "value", metadata: "line of metadata",
        foreign_classes: "class or function", unread: "part that is not in the state", bases: "base" })) {
        if (leftOut[kind]) all.push("Left out, " + what + ": " + number(leftOut[kind]));
    }
    if (data.regions_problem) all.push("The map lacks parts: " + data.regions_problem);
    const unreadable = tensors.filter(t => t.unreadable).length;
    if (unreadable) all.push(count(unreadable, "tensor") + " cannot be read.");
    const unplaced = storages.filter(s => s.device !== "meta" && s.nbytes > 0 && s.extents?.length === 0).length;
    if (unplaced) all.push("The map lacks " + count(unplaced, "storage")
        + ", whose bytes are not stored as they are in memory.");
    if (data.saved_from.length) all.push("Saved from " + data.saved_from.join(", ") + ".");
    for (const base of data.bases) {
        all.push("Bytes are in " + base.path + (base.problem ? ", which was not found: " + base.problem : "."));
    }
    for (const each of data.foreign_classes.filter(each => each.dangerous)) {
        all.push("Dangerous if Python loads it: " + each.class);
    }
    for (const part of data.unread) all.push("Not in the state: " + part.what + ", " + bytes(part.nbytes));
    const shown = all.slice(0, 8).map(each => make("li", {}, plain(each)));
    if (all.length > 8) {
        shown.push(make("li", {}, make("details", {}, make("summary", {}, (all.length - 8) + " more"),
            ...all.slice(8).map(each => make("p", {}, plain(each))))));
    }
    element("notes").replaceChildren(...shown);
}

// Texts about the file, and the values of the state that are no tensors.
function about() {
    const pairs = [...data.metadata.map(({ key, value }) => [key, value]),
        ...data.values.map(({ path, value }) => [path, value])];
    const box = element("about");
    box.hidden = pairs.length === 0;
    box.open = pairs.length <= 12;
    box.firstElementChild.textContent = [
        data.metadata.length > 0 ? count(data.metadata.length, "text") + " about the file" : "",
        data.values.length > 0 ? count(data.values.length, "value") + " of the state" : "",
    ].filter(part => part !== "").join(", ");
    box.lastElementChild.replaceChildren(...pairs.flatMap(([name, value]) =>
        [make("dt", {}, plain(name)), make("dd", {}, plain(value))]));
}

function start() {
    const name = plain(data.file.name);
    document.title = name + " – croft inspect";
    element("name").textContent = name;
    const held = storages.reduce((sum, storage) => sum + storage.nbytes, 0);
    element("summary").textContent = [data.format + ", " + bytes(data.file.nbytes) + (files.length > 1 ? " in " + count(files.length, "file") : ""),
        data.snapshot ? "snapshot " + plain(data.snapshot) : "",
        count(tensors.length + data.left_out.tensors, "tensor"),
        count(storages.length + data.left_out.storages, "storage")
            + (data.left_out.storages ? "" : " of " + bytes(held)),
        data.disk_nbytes === null ? "" : bytes(data.disk_nbytes) + " stored",
    ].filter(part => part !== "").join(" · ");
    notes();
    about();
    prepareMap();
    prepareList();
    prepareSource();
    readColours();
    show("tensors");
    detail();
    drawMap();
    const redraw = () => { readColours(); arrange(); drawMap(); element("detail").querySelectorAll("canvas")
        .forEach(canvas => canvas.draw()); };
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    addEventListener("resize", redraw);
}

start();
