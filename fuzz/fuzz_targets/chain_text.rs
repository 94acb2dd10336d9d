#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| nc3z_fuzz::chain_text(data));
