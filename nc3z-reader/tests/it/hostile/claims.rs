//! Claims of lengths that no file has: many tiles, overlapping variables, 64 bits.

use super::*;

#[test]
fn record_variables_may_be_chunked() {
    // The format allows it although our writer does not do it: short slots, long ones, and two that interleave.
    for (shape, others) in [(vec![3], 0), (vec![20_000], 0), (vec![3], 1)] {
        let mut vars = vec![Var::record(NcType::Byte, &shape)];
        vars.extend((0..others).map(|_| Var::record(NcType::Byte, &shape)));
        let original = Model::new(Version::Cdf5, 4, vars.clone()).build().bytes;
        let parsed =
            nc3z_format::classic::parse(&original, original.len() as u64, &nc3z_format::Limits::default());
        let header_len = usize::try_from(parsed.unwrap().header_len).unwrap();
        let mut forge = Forge::chars(1, 1);
        forge.original_len = original.len() as u64;
        forge.head.header = original[..header_len].to_vec();
        let layout = TileLayoutSpec::Chunked { shape: vec![3, shape[0] - 1], padded: false };
        forge.head.layouts = vec![layout; vars.len()];
        forge.head.padding_tile_lens = vec![100; if others > 0 { vars.len() } else { 0 }];
        let mut rows = Vec::new();
        let row = |array, tile_count| Row { array, tile_count, root: 0 };
        (0u32..).zip(&vars).for_each(|(v, _)| rows.push(row(ArrayId::variable(v), 4)));
        if others > 0 {
            (0u32..).zip(&vars).for_each(|(v, _)| rows.push(row(ArrayId::padding(v), 1)));
        }
        let entries = rows.iter().map(|r| r.tile_count).sum();
        forge.table = VariableTable::new(rows, constants(entries)).encode();
        let found = restore(forge.build()).unwrap();
        assert_eq!(found[..header_len], original[..header_len]);
        assert!(found.len() == original.len() && found[header_len..].iter().all(|&b| b == 7));
    }
}

#[test]
fn tiles_of_a_gibibyte_for_each_of_many_record_variables_are_refused() {
    // 64 variables of one constant tile each, all of 1 GiB. A header of a few KB can request 64 GiB, or
    // overlapping variables in a file of an exbibyte, whose digests would never end.
    let vars = 64;
    let mut header = b"CDF\x05".to_vec();
    header.extend((1u64 << 30).to_be_bytes());
    header.extend(10u32.to_be_bytes());
    header.extend(1u64.to_be_bytes());
    header.extend([1u64.to_be_bytes().as_slice(), b"t\0\0\0", &[0; 8]].concat());
    header.extend([0; 12]);
    header.extend(11u32.to_be_bytes());
    header.extend((vars as u64).to_be_bytes());
    let begin = header.len() as u64 + vars as u64 * (8 + 4 + 8 + 8 + 12 + 4 + 8 + 8);
    for v in 0..vars as u64 {
        header.extend(
            [1u64.to_be_bytes().as_slice(), b"v\0\0\0", &1u64.to_be_bytes(), &[0; 8], &[0; 12]].concat(),
        );
        header.extend(5u32.to_be_bytes());
        header.extend(4u64.to_be_bytes());
        header.extend((begin + 4 * v).to_be_bytes());
    }
    assert_eq!(header.len() as u64, begin);
    let mut forge = Forge::chars(1, 1);
    forge.original_len = begin + (4 << 30) * vars as u64;
    forge.head.header = header;
    forge.head.layouts = vec![TileLayoutSpec::Linear(1 << 28); vars];
    let rows = (0..u32::try_from(vars).unwrap()).map(|v| Row {
        array: ArrayId::variable(v),
        tile_count: 4,
        root: 0,
    });
    forge.table = VariableTable::new(rows.collect(), constants(4 * vars as u64)).encode();
    let source = nc3z_reader::source::MemorySource::new(forge.build());
    let archive =
        nc3z_reader::Archive::from_source(std::sync::Arc::new(source), &nc3z_reader::OpenOptions::default())
            .unwrap();
    let error = archive.check_original(&()).unwrap_err();
    assert!(error.to_string().contains("decoded tiles of one window"), "{error}");
    let wanted = nc3z_reader::DigestRequest { content: true, sha256: false, tree: false };
    assert!(archive.digests(wanted, &()).unwrap_err().to_string().contains("decoded tiles of one window"));
}

#[test]
fn variables_that_overlap_without_end_have_no_digest() {
    // Ten thousand variables, each all of a terabyte.
    let mut header = b"CDF\x05".to_vec();
    header.extend([0; 8]);
    header.extend(10u32.to_be_bytes());
    header.extend(1u64.to_be_bytes());
    header.extend([1u64.to_be_bytes().as_slice(), b"x\0\0\0", &(1u64 << 40).to_be_bytes()].concat());
    header.extend([0; 12]);
    header.extend(11u32.to_be_bytes());
    header.extend(10_000u64.to_be_bytes());
    let begin = header.len() as u64 + 10_000 * (8 + 4 + 8 + 8 + 12 + 4 + 8 + 8);
    for _ in 0..10_000 {
        header.extend(
            [1u64.to_be_bytes().as_slice(), b"v\0\0\0", &1u64.to_be_bytes(), &[0; 8], &[0; 12]].concat(),
        );
        header.extend(1u32.to_be_bytes());
        header.extend((1u64 << 40).to_be_bytes());
        header.extend(begin.to_be_bytes());
    }
    let mut forge = Forge::chars(1, 1);
    forge.original_len = begin + (1 << 40);
    forge.head.header = header;
    forge.head.layouts = vec![TileLayoutSpec::Linear(1 << 30); 10_000];
    let leaves = 1 << 10;
    forge = forge.row(leaves, 8 * 20, vec![]);
    // Whether the index is sound or not: the digest is refused before anything is read.
    let source = nc3z_reader::source::MemorySource::new(forge.build());
    let archive =
        nc3z_reader::Archive::from_source(std::sync::Arc::new(source), &nc3z_reader::OpenOptions::default())
            .unwrap();
    let wanted = nc3z_reader::DigestRequest { content: true, sha256: true, tree: false };
    let error = archive.digests(wanted, &()).unwrap_err();
    assert!(error.to_string().contains("overlap"), "{error}");
}

#[test]
fn originals_as_long_as_64_bits_can_say_have_no_overflow() {
    let limits = nc3z_format::Limits::default();
    let shapes = [vec![vec![7], vec![3]], vec![vec![3]], vec![vec![1 << 30], vec![5]]];
    for (shapes, fixed) in shapes.into_iter().flat_map(|s| [(s.clone(), false), (s, true)]) {
        let mut vars: Vec<_> = shapes.iter().map(|s| Var::record(NcType::Byte, &s[..])).collect();
        if fixed {
            vars.push(Var::fixed(NcType::Double, &[2]));
        }
        let mut model = Model::new(Version::Cdf5, 0, vars);
        model.numrecs = nc3z_format::classic::NumRecs::Streaming;
        model.cut = u64::MAX; // the header is enough
        let bytes = model.build().bytes;
        for original_len in [u64::MAX, u64::MAX - 1, u64::MAX - 7, i64::MAX as u64, i64::MAX as u64 + 1] {
            let Ok(parsed) = nc3z_format::classic::parse(&bytes, original_len, &limits) else { continue };
            let header_len = usize::try_from(parsed.header_len).unwrap();
            let Ok(layout) = Layout::new(&parsed.header, parsed.header_len, original_len) else { continue };
            let mut forge = Forge::chars(1, 1);
            forge.original_len = original_len;
            forge.head.header = bytes[..header_len].to_vec();
            forge.head.layouts = vec![TileLayoutSpec::Linear(1 << 10); parsed.header.variables.len()];
            forge.head.padding_tile_lens = vec![1 << 10; padded_variables(&layout).len()];
            let head = &forge.head;
            let arrays = Arrays::new(
                &parsed.header,
                &layout,
                &head.layouts,
                &head.padding_tile_lens,
                1 << 20,
                &limits,
            );
            let Ok(arrays) = arrays else { continue };
            let rows = arrays.iter().filter(|a| a.tiling.tile_count() > 0);
            let rows: Vec<_> =
                rows.map(|a| Row { array: a.id, tile_count: a.tiling.tile_count(), root: 160 }).collect();
            let mut rows = rows;
            rows.sort_by_key(|r| r.array);
            forge.table = VariableTable::new(rows, vec![]).encode();
            let Ok(archive) = open(forge.build()) else { continue };
            for back in [1, 10, 100, 1 << 20] {
                let mut out = vec![0; usize::try_from(back.min(5000)).unwrap()];
                assert!(archive.read_original(original_len - back, &mut out).is_err());
            }
            for v in 0..u32::try_from(vars_of(&archive)).unwrap() {
                assert!(archive.read_variable_range(VarId(v), 0, &mut [0; 8]).is_err());
                let _ = archive.read_variable_range(VarId(v), u64::MAX - 8, &mut [0; 8]);
                let _ = archive.read_variable_range(VarId(v), u64::MAX / 2, &mut [0; 8]);
            }
            assert!(archive.check_original(&()).is_err());
        }
    }
}
