#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| nc3z_fuzz::short_form(data));
