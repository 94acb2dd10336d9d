//! What the module exports: one buffer in, one buffer out, and a call. Pointers are given, and none is taken.

use crate::request::{Reply, Session};
use std::cell::RefCell;

thread_local! {
    static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static OUTPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static SESSION: RefCell<Session> = RefCell::default();
}

/// Makes room for `len` bytes, and says where: a request, or bytes of the file.
#[expect(unsafe_code, reason = "the name is exported, and taken by nothing else")]
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nc3z_web_input(len: u32) -> *mut u8 {
    INPUT.with_borrow_mut(|input| {
        *input = vec![0; len as usize];
        input.as_mut_ptr()
    })
}

/// Answers the request in the input; gives the status. The input is empty afterwards, and the output has the reply.
#[expect(unsafe_code, reason = "the name is exported, and taken by nothing else")]
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nc3z_web_call() -> i32 {
    // A panic ends the module, whose memory stays readable: the message is where a reply would be.
    #[cfg(target_family = "wasm")]
    std::panic::set_hook(Box::new(|info| OUTPUT.set(info.to_string().into_bytes())));
    let Reply { status, bytes } = SESSION.with_borrow_mut(|session| session.answer(&INPUT.take()));
    OUTPUT.set(bytes);
    status as i32
}

/// Takes the input as bytes of the file, from `offset` on.
#[expect(unsafe_code, reason = "the name is exported, and taken by nothing else")]
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nc3z_web_provide(offset: u64) {
    SESSION.with_borrow_mut(|session| session.provide(offset, INPUT.take()));
}

/// Where the reply is.
#[expect(unsafe_code, reason = "the name is exported, and taken by nothing else")]
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nc3z_web_output() -> *const u8 {
    OUTPUT.with_borrow(Vec::as_ptr)
}

/// Bytes of the reply.
#[expect(unsafe_code, reason = "the name is exported, and taken by nothing else")]
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nc3z_web_output_len() -> u32 {
    OUTPUT.with_borrow(|output| u32::try_from(output.len()).unwrap_or(u32::MAX))
}
