"""Standalone pco files (pco.md), from the text alone: plain Python, and slow. ValueError where bytes break a rule."""

import struct

TYPES = {5: "f4", 6: "f8", 8: "i2", 3: "i4", 4: "i8", 7: "u2", 1: "u4", 2: "u8"}
BATCH = 256


def need(condition, what):
    if not condition:
        raise ValueError(f"pco: {what}")


class Bits:
    """Fields from the lowest bit of the first byte upward."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def read(self, count):
        need(self.at + count <= 8 * len(self.data), "ends early")
        first, last = self.at // 8, (self.at + count + 7) // 8
        value = int.from_bytes(self.data[first:last], "little") >> self.at % 8 & (1 << count) - 1
        self.at += count
        return value

    def align(self):
        need(self.read(-self.at % 8) == 0, "bits up to the next byte are not zero")


class Variable:
    """A latent variable of a chunk: its bins, and the table of its symbols. Sections 3 and 4."""

    def __init__(self, bits, width):
        self.width, self.log = width, bits.read(4)
        count = bits.read(15)
        need(self.log <= 14 and count <= 1 << self.log and (count != 1 or self.log == 0), "bins")
        self.bins = []
        for _ in range(count):
            weight, lower = bits.read(self.log) + 1, bits.read(width)
            self.bins.append((weight, lower, bits.read(width.bit_length())))
        need(all(b[2] <= width for b in self.bins), "more offset bits than the type has")
        self.bins = self.bins or [(1, 0, 0)]
        size = 1 << self.log
        need(sum(b[0] for b in self.bins) == size, "weights")
        stride = 3 * size // 5 | 1
        symbols, step = [0] * size, 0
        for symbol, (weight, _, _) in enumerate(self.bins):
            for _ in range(weight):
                symbols[stride * step % size] = symbol
                step += 1
        x, self.nodes = [b[0] for b in self.bins], []
        for symbol in symbols:
            shift = self.log + 1 - x[symbol].bit_length()
            self.nodes.append((symbol, shift, (x[symbol] << shift) - size))
            x[symbol] += 1

    def begin_page(self, bits, state_length):
        """Section 5: delta state, states of the four interleaved decoders."""
        self.state = [bits.read(self.width) for _ in range(state_length)]
        self.lanes = [bits.read(self.log) for _ in range(4)]
        self.values = []

    def batch(self, bits, count):
        found = []
        for i in range(count):
            symbol, shift, base = self.nodes[self.lanes[i % 4]]
            self.lanes[i % 4] = base + bits.read(shift)
            found.append(self.bins[symbol])
        mask = (1 << self.width) - 1
        self.values += [lower + bits.read(offset) & mask for _, lower, offset in found]


def undo_delta(kind, variable, lookbacks, n):
    """Section 6: from what a page holds to the n latents."""
    width, mask = variable.width, (1 << variable.width) - 1
    if kind[0] == 0:
        return variable.values
    middle = 1 << width - 1
    values = [v ^ middle for v in variable.values]
    if kind[0] == 1:
        values += [0] * (n - len(values))
        for moment in reversed(variable.state):
            for i, delta in enumerate(values):
                values[i], moment = moment, moment + delta & mask
        return values
    out = variable.state[:]
    for i, delta in enumerate(values):
        if kind[0] == 2:
            need(1 <= lookbacks[i] <= 1 << kind[1], "a lookback beyond the window")
            before = out[len(out) - lookbacks[i]] if lookbacks[i] <= len(out) else 0
        else:
            quantization, bias, weights = kind[1:]
            total = bias + sum(w * x for w, x in zip(weights, out[len(out) - len(weights):]))
            before = max(total, 0) >> quantization
        out.append(delta + before & mask)
    return out[:n]


def ordered(pattern, width):
    """The latent of a float's bits."""
    return pattern ^ ((1 << width) - 1 if pattern >> width - 1 else 1 << width - 1)


def from_ordered(latent, dtype, width):
    """The bits of a number, of its latent."""
    if dtype[0] == "u":
        return latent
    if dtype[0] == "i" or latent >> width - 1:
        return latent ^ 1 << width - 1
    return latent ^ (1 << width) - 1


def multiplied(latent, base, width):
    """The bits of an integer float times the base, computed in the type."""
    code, word, explicit = {32: ("<f", "<I", 23), 64: ("<d", "<Q", 52)}[width]
    bits_of = lambda x: struct.unpack(word, struct.pack(code, x))[0]  # noqa: E731
    middle, limit = 1 << width - 1, 1 << explicit + 1
    negative = latent < middle
    whole = middle - 1 - latent if negative else latent - middle
    bits = bits_of(float(whole)) if whole < limit else whole + bits_of(float(limit)) - limit
    number = struct.unpack(code, struct.pack(word, (bits | middle if negative else bits) & (1 << width) - 1))[0]
    try:
        return bits_of(number * base)
    except OverflowError:
        return bits_of(float("inf")) | (middle if (number < 0) != (base < 0) else 0)


def chunk(bits, dtype, width, n):
    """Section 3 to 7: the patterns of n numbers."""
    mode, extra = bits.read(4), None
    if mode in (1, 2):
        extra = bits.read(width)
    elif mode == 3:
        extra = bits.read(8)
    elif mode == 4:
        count = bits.read(25)
        bits.align()
        need(count * width <= 8 * len(bits.data), "ends early")
        extra = [bits.read(width) for _ in range(count)]
    need(mode <= 4 and (dtype[0] == "f" if mode in (2, 3) else dtype[0] != "f" or mode != 1), f"mode {mode}")
    delta = [bits.read(4)]
    need(delta[0] <= 3, "delta encoding")
    state_length, secondary_too = 0, False
    if delta[0] == 1:
        state_length, secondary_too = bits.read(3), bits.read(1)
        need(state_length > 0, "order 0")
    elif delta[0] == 2:
        window, log, secondary_too = bits.read(5) + 1, bits.read(4), bits.read(1)
        need(window <= 24 and log <= window, "window")
        delta, state_length = [2, window], 1 << log
    elif delta[0] == 3:
        quantization, bias, state_length = bits.read(5), bits.read(64) - (1 << 63), bits.read(5) + 1
        delta = [3, quantization, bias, [bits.read(32) - (1 << 31) for _ in range(state_length)]]
    lookback = Variable(bits, 32) if delta[0] == 2 else None
    primary = Variable(bits, 32 if mode == 4 else width)
    secondary = Variable(bits, width) if mode in (1, 2, 3) else None
    bits.align()

    of_secondary = state_length if secondary_too else 0
    for variable, length in ((lookback, 0), (primary, state_length), (secondary, of_secondary)):
        if variable:
            variable.begin_page(bits, length)
    bits.align()
    for first in range(0, n, BATCH):
        for variable, length in ((lookback, state_length), (primary, state_length), (secondary, of_secondary)):
            if variable:
                variable.batch(bits, min(BATCH, max(0, n - first - length)))
    bits.align()

    lookbacks = lookback.values if lookback else None
    one = undo_delta(delta, primary, lookbacks, n)
    two = undo_delta(delta if secondary_too else [0], secondary, lookbacks, n) if secondary else None
    mask, middle = (1 << width) - 1, 1 << width - 1
    if mode == 0:
        latents = one
    elif mode == 1:
        latents = [a * extra + b & mask for a, b in zip(one, two)]
    elif mode == 2:
        base = struct.unpack({32: "<f", 64: "<d"}[width], from_ordered(extra, dtype, width).to_bytes(width // 8, "little"))[0]
        latents = [ordered(multiplied(a, base, width), width) + b + middle & mask for a, b in zip(one, two)]
    elif mode == 3:
        need(0 < extra <= {32: 23, 64: 52}[width], "bits of FloatQuant")
        low = (1 << extra) - 1
        latents = [(a << extra & mask) + (b if a >= middle >> extra else low - b) & mask for a, b in zip(one, two)]
    else:
        need(all(a < len(extra) for a in one), "beyond the dictionary")
        latents = [extra[a] for a in one]
    return [from_ordered(latent, dtype, width) for latent in latents]


def decode(data, dtype, count):
    """The patterns of `count` numbers of a type such as "f4". Section 2."""
    width = 8 * int(dtype[1:])
    bits = Bits(data)
    need(data[:4] == b"pco!", "magic")
    bits.at = 32
    version = bits.read(8)
    need(version == 3, f"standalone version {version}")
    uniform = bits.read(8)
    bits.read(bits.read(6) + 1)
    bits.align()
    major, minor = bits.read(8), bits.read(8)
    need((major, minor) <= (4, 1) and major == 4, f"format version {major}.{minor}")
    out = []
    while kind := bits.read(8):
        need(TYPES.get(kind) == dtype and uniform in (0, kind), f"numbers of type {kind}, expected {dtype}")
        n = bits.read(24) + 1
        need(len(out) + n <= count, f"more than {count} numbers")
        out += chunk(bits, dtype, width, n)
    need(len(out) == count and bits.at == 8 * len(data), f"{len(out)} numbers, expected {count}, or bytes behind them")
    return out
