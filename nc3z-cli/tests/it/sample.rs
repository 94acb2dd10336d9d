//! Small classic files, written byte by byte.

/// A variable of a sample: name, dimension numbers, type code, and its bytes (of one record where it has records).
struct Var<'a> {
    name: &'a [u8],
    dims: &'a [u32],
    ty: u32,
    slot: u32,
}

/// The bytes of a header that is being made.
#[derive(Default)]
struct Words(Vec<u8>);

impl Words {
    fn u32(&mut self, n: u32) -> &mut Self {
        self.0.extend(n.to_be_bytes());
        self
    }

    fn len(&mut self, n: usize) -> &mut Self {
        self.u32(u32::try_from(n).unwrap())
    }

    fn name(&mut self, name: &[u8]) -> &mut Self {
        self.len(name.len());
        self.0.extend(name);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }
}

/// A CDF-1 header with one global attribute; fixed variables first, then those whose first dimension is number 0, `time`.
fn header(records: u32, dims: &[(&str, u32)], vars: &[Var<'_>]) -> Vec<u8> {
    let build = |fixed_begin: u32| {
        let mut w = Words(b"CDF\x01".to_vec());
        w.u32(records).u32(0xA).len(dims.len());
        for (name, len) in dims {
            w.name(name.as_bytes()).u32(*len);
        }
        w.u32(0xC).u32(1).name(b"title").u32(2).name(b"a sample");
        w.u32(0xB).len(vars.len());
        let mut begin = fixed_begin;
        for var in vars {
            w.name(var.name).len(var.dims.len());
            for &dim in var.dims {
                w.u32(dim);
            }
            let vsize = var.slot.next_multiple_of(4);
            w.u32(0).u32(0).u32(var.ty).u32(vsize).u32(begin);
            begin += vsize;
        }
        w.0
    };
    let len = build(0).len();
    build(u32::try_from(len).unwrap())
}

/// A deterministic stream that does not compress.
pub(crate) fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend(state.to_be_bytes());
    }
    bytes.truncate(len);
    bytes
}

/// Makes three records of `flag(time)`, a short with padding, and `tas(time, x)`, after `x(x)` and three
/// bytes `b(n)` with a gap.
pub(crate) fn small() -> Vec<u8> {
    named(b"tas")
}

/// [`small`] with another name for `tas`.
pub(crate) fn named(name: &[u8]) -> Vec<u8> {
    let dims = [("time", 0), ("x", 4), ("n", 3)];
    let vars = [
        Var { name: b"x", dims: &[1], ty: 4, slot: 16 },
        Var { name: b"b", dims: &[2], ty: 1, slot: 3 },
        Var { name: b"flag", dims: &[0], ty: 3, slot: 2 },
        Var { name, dims: &[0, 1], ty: 5, slot: 16 },
    ];
    let mut bytes = header(3, &dims, &vars);
    (1..=4_u32).for_each(|x| bytes.extend(x.to_be_bytes()));
    bytes.extend([7, 8, 9, 0]);
    for record in 0..3_u8 {
        bytes.extend([0, record, 0, 0]);
        for x in 0..4_u8 {
            bytes.extend((270.0 + f32::from(record) + f32::from(x) / 4.0).to_be_bytes());
        }
    }
    bytes
}

/// One variable `noise(n)` of bytes that do not compress, and `zero(n)`, constant.
pub(crate) fn noisy(len: u32) -> Vec<u8> {
    let len = len.next_multiple_of(4);
    let vars = [
        Var { name: b"noise", dims: &[1], ty: 1, slot: len },
        Var { name: b"zero", dims: &[1], ty: 1, slot: len },
    ];
    let mut bytes = header(0, &[("time", 0), ("n", len)], &vars);
    bytes.extend(noise(len as usize));
    bytes.resize(bytes.len() + len as usize, 0);
    bytes
}

/// Makes a file with `count` variables of one int each.
pub(crate) fn many(count: u32) -> Vec<u8> {
    let names: Vec<String> = (0..count).map(|n| format!("variable_{n}")).collect();
    let vars: Vec<Var<'_>> =
        names.iter().map(|name| Var { name: name.as_bytes(), dims: &[1], ty: 4, slot: 4 }).collect();
    let mut bytes = header(0, &[("time", 0), ("one", 1)], &vars);
    (0..count).for_each(|n| bytes.extend(n.to_be_bytes()));
    bytes
}
