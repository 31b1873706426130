"use strict";

// Statistics of a tensor, computed from `source`, which has the file that the user chooses for each file of the page.

const WINDOW = 4 << 20, BINS = 64;
const source = new Map();

// Decodes the float with these numbers of bits of exponent and fraction, for each bit pattern. In the kinds "fn" and
// "fnuz", the greatest exponent is that of numbers, and NaN is all ones or the negative zero.
function floats(exponentBits, fractionBits, bias, kind) {
    const all = new Float64Array(1 << (1 + exponentBits + fractionBits));
    const mostExponent = (1 << exponentBits) - 1, mostFraction = (1 << fractionBits) - 1;
    for (let code = 0; code < all.length; code++) {
        const exponent = (code >> fractionBits) & mostExponent, fraction = code & mostFraction;
        const sign = code >> (exponentBits + fractionBits) ? -1 : 1;
        const value = exponent === 0 ? fraction / (1 << fractionBits) * 2 ** (1 - bias)
            : (1 + fraction / (1 << fractionBits)) * 2 ** (exponent - bias);
        if (kind === "ieee" && exponent === mostExponent) all[code] = fraction ? NaN : sign * Infinity;
        else if (kind === "fn" && exponent === mostExponent && fraction === mostFraction) all[code] = NaN;
        else if (kind === "fnuz" && code === all.length >> 1) all[code] = NaN;
        else all[code] = sign * value;
    }
    return all;
}

const scales = () => Float64Array.from({ length: 256 }, (_, code) => code === 255 ? NaN : 2 ** (code - 127));
const DTYPES = {
    float64: [Float64Array], float32: [Float32Array],
    float16: [Uint16Array, () => floats(5, 10, 15, "ieee")], bfloat16: [Uint16Array, () => floats(8, 7, 127, "ieee")],
    float8_e4m3fn: [Uint8Array, () => floats(4, 3, 7, "fn")], float8_e5m2: [Uint8Array, () => floats(5, 2, 15, "ieee")],
    float8_e4m3fnuz: [Uint8Array, () => floats(4, 3, 8, "fnuz")],
    float8_e5m2fnuz: [Uint8Array, () => floats(5, 2, 16, "fnuz")], float8_e8m0fnu: [Uint8Array, scales],
    int64: [BigInt64Array], int32: [Int32Array], int16: [Int16Array], int8: [Int8Array], uint64: [BigUint64Array],
    uint32: [Uint32Array], uint16: [Uint16Array], uint8: [Uint8Array],
    // The integers that are stored; scale and zero point are no part of the elements.
    qint32: [Int32Array], qint8: [Int8Array], quint8: [Uint8Array],
    // Two numbers for each element.
    complex128: [Float64Array], complex64: [Float32Array], complex32: [Uint16Array, () => floats(5, 10, 15, "ieee")],
    bool: [Uint8Array, () => Float64Array.from({ length: 256 }, (_, code) => code ? 1 : 0)],
};
const tables = new Map();
const isComplex = dtype => dtype.startsWith("complex");
const REAL = 0, IMAGINARY = 1;

// Returns bytes of a file as numbers, one for each element; of complex elements this part.
function decode(dtype, buffer, part) {
    const numbers = decodeNumbers(dtype, buffer);
    return isComplex(dtype) ? numbers.filter((_, i) => i % 2 === part) : numbers;
}

function decodeNumbers(dtype, buffer) {
    const [view, table] = DTYPES[dtype];
    const codes = new view(buffer);
    if (!table) return codes instanceof BigInt64Array || codes instanceof BigUint64Array
        ? Float64Array.from(codes, Number) : codes;
    if (!tables.has(dtype)) tables.set(dtype, table());
    const values = tables.get(dtype), decoded = new Float64Array(codes.length);
    for (let i = 0; i < codes.length; i++) decoded[i] = values[codes[i]];
    return decoded;
}

async function read(storage, from, to) {
    const all = new Uint8Array(to - from);
    for (const [start, nbytes, place, offset] of storage.extents) {
        const first = Math.max(from, start), end = Math.min(to, start + nbytes);
        if (first >= end || place === NOWHERE) continue;
        const file = fileAt(offset);
        const at = offset - file.start - start;
        const slice = source.get(file).slice(at + first, at + end);
        all.set(new Uint8Array(await slice.arrayBuffer()), first - from);
    }
    return all.buffer;
}

// Returns the dimensions by descending stride, with contiguous ones merged; repeated ones are only counted.
function simplified(tensor) {
    let repeats = 1;
    const dims = [];
    tensor.shape.forEach((size, dim) => {
        if (tensor.stride[dim] === 0) repeats *= size;
        else if (size !== 1) dims.push({ size, stride: tensor.stride[dim] });
    });
    dims.sort((a, b) => b.stride - a.stride);
    for (let i = dims.length - 1; i > 0; i--) {
        if (dims[i - 1].stride === dims[i].size * dims[i].stride) {
            dims[i - 1] = { size: dims[i - 1].size * dims[i].size, stride: dims[i].stride };
            dims.splice(i, 1);
        }
    }
    return { repeats, dims: dims.length === 0 ? [{ size: 1, stride: 1 }] : dims };
}

// Returns why there are no statistics of a tensor, or nothing.
function obstacle(tensor) {
    const storage = tensor.on;
    if (tensor.numel === 0) return "It has no elements.";
    if (!Object.hasOwn(DTYPES, tensor.dtype)) return "There are no statistics for this dtype.";
    if (!storage || storage.device === "meta") return "There are no bytes of it.";
    if (!storage.extents || storage.extents.length === 0) {
        return "It is not known where its bytes are in this file: they are compressed, in another byte order, or in "
            + "another file.";
    }
    const from = tensor.from, to = tensor.to;
    if (storage.extents.some(([start, n, place]) => place === BASE && start < to && start + n > from)) {
        return "Bytes of it are in another file.";
    }
    if (storage.extents.some(([start, n, , , stored]) => stored && start < to && start + n > from)) {
        return "Bytes of it are compressed.";
    }
    const stored = simplified(tensor).dims.reduce((all, dim) => all * dim.size, 1);
    return stored > storage.nbytes * 8 / tensor.bits ? "Its elements overlap, so that they are more than those stored."
        : null;
}

// Calls `use(values, start, step, n)` for all elements, in the order of their places.
async function forEach(tensor, part, job, use) {
    const itemsize = tensor.bits / 8;
    const { dims } = simplified(tensor);
    const inner = dims.at(-1), outer = dims.slice(0, -1), index = outer.map(() => 0);
    const end = tensor.to / itemsize;
    let values = null, from = 0, to = 0;
    for (;;) {
        const base = index.reduce((sum, at, dim) => sum + at * outer[dim].stride, tensor.offset);
        for (let i = 0; i < inner.size;) {
            const place = base + i * inner.stride;
            if (place < from || place >= to) {
                from = place;
                to = Math.min(end, place + WINDOW / itemsize);
                values = decode(tensor.dtype, await read(tensor.on, from * itemsize, to * itemsize), part);
                if (job.cancelled) throw job;
            }
            const n = Math.min(inner.size - i, Math.floor((to - 1 - place) / inner.stride) + 1);
            use(values, place - from, inner.stride, n);
            i += n;
        }
        let dim = outer.length - 1;
        while (dim >= 0 && ++index[dim] === outer[dim].size) index[dim--] = 0;
        if (dim < 0) return;
    }
}

// Computes statistics of all elements; of complex elements those of this part.
async function statistics(tensor, part, job, progress) {
    const { repeats } = simplified(tensor);
    const isNegated = Boolean(tensor.neg) !== (part === IMAGINARY && Boolean(tensor.conj));
    const sign = isNegated ? -1 : 1;
    const all = tensor.numel / repeats;
    let min = Infinity, max = -Infinity, low = Infinity, high = -Infinity, sum = 0, nan = 0, infinite = 0, done = 0;
    await forEach(tensor, part, job, (values, start, step, n) => {
        let total = 0;
        for (let i = 0, at = start; i < n; i++, at += step) {
            const x = values[at];
            if (x !== x) { nan++; continue; }
            total += x;
            if (x < min) min = x;
            if (x > max) max = x;
            if (x === Infinity || x === -Infinity) { infinite++; continue; }
            if (x < low) low = x;
            if (x > high) high = x;
        }
        sum += total;
        done += n;
        progress(done / all / 2);
    });
    const isWhole = /^(q?u?int|bool)/.test(tensor.dtype);
    const wanted = isWhole && high - low < BINS ? high - low + 1 : high > low ? BINS : 1;
    const bins = new Array(low <= high ? wanted : 0).fill(0);
    const scale = isWhole && bins.length === high - low + 1 ? 1 : bins.length / (high - low);
    if (bins.length > 0) {
        await forEach(tensor, part, job, (values, start, step, n) => {
            for (let i = 0, at = start; i < n; i++, at += step) {
                const x = values[at];
                if (x >= low && x <= high) bins[Math.min(bins.length - 1, Math.floor((x - low) * scale) || 0)]++;
            }
            progress(0.5 + (done += n) / all / 4);
        });
    }
    const numbers = all - nan;
    const flip = x => sign < 0 ? -x : x;
    return {
        min: flip(sign < 0 ? max : min), max: flip(sign < 0 ? min : max), mean: flip(sum / numbers), nan: nan * repeats,
        infinite: infinite * repeats, numbers: numbers * repeats, low: flip(sign < 0 ? high : low),
        high: flip(sign < 0 ? low : high), bins: sign < 0 ? bins.reverse() : bins,
    };
}
