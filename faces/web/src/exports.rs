//! The exports of the module: an input buffer, an output buffer, and a call. The functions return pointers,
//! and take none.

use crate::request::{Reply, Session};
use std::cell::RefCell;

thread_local! {
    static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static OUTPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static SESSION: RefCell<Session> = RefCell::default();
}

/// Makes room for `len` bytes of a request or of the file, and returns their address.
#[expect(unsafe_code, reason = "the name is exported, and no other item has it")]
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nc3z_web_input(len: u32) -> *mut u8 {
    INPUT.with_borrow_mut(|input| {
        *input = vec![0; len as usize];
        input.as_mut_ptr()
    })
}

/// Executes the request in the input, and returns the status. Afterwards the input is empty, and the output
/// contains the reply.
#[expect(unsafe_code, reason = "the name is exported, and no other item has it")]
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nc3z_web_call() -> i32 {
    // A panic ends the module, but its memory is still readable: the message is stored like a reply.
    #[cfg(target_family = "wasm")]
    std::panic::set_hook(Box::new(|info| OUTPUT.set(info.to_string().into_bytes())));
    let Reply { status, bytes } = SESSION.with_borrow_mut(|session| session.answer(&INPUT.take()));
    OUTPUT.set(bytes);
    status as i32
}

/// Takes the input as bytes of the file, from `offset` on.
#[expect(unsafe_code, reason = "the name is exported, and no other item has it")]
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nc3z_web_provide(offset: u64) {
    SESSION.with_borrow_mut(|session| session.provide(offset, INPUT.take()));
}

/// Returns the address of the reply.
#[expect(unsafe_code, reason = "the name is exported, and no other item has it")]
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nc3z_web_output() -> *const u8 {
    OUTPUT.with_borrow(Vec::as_ptr)
}

/// Returns the length of the reply in bytes.
#[expect(unsafe_code, reason = "the name is exported, and no other item has it")]
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nc3z_web_output_len() -> u32 {
    OUTPUT.with_borrow(|output| u32::try_from(output.len()).unwrap_or(u32::MAX))
}
