//! Lists the public items of a library, one in each line, from rustdoc's JSON.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: public-api-list RUSTDOC.json")?;
    // Derived, automatic and blanket implementations are left out.
    let surface = public_api::Builder::from_rustdoc_json(path)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()?;
    print!("{surface}");
    Ok(())
}
