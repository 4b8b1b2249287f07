//! The C interface of the engine.
//!
//! A page writes a request to the memory returned by [`request`], calls [`answer`], and reads
//! [`answer_length`] bytes at [`answer_start`]. The page provides two functions: `progress(part)` and
//! `panicked(start, length)`. The latter gets the message of a panic before the module ends.
#![allow(unsafe_code, reason = "names that the linker keeps, and the page's own functions")]

use std::cell::RefCell;

use crate::Engine;

#[link(wasm_import_module = "page")]
unsafe extern "C" {
    safe fn progress(part: f64);
    safe fn panicked(start: *const u8, length: usize);
}

#[derive(Default)]
struct PageState {
    engine: Engine,
    /// A request, then its answer.
    text: Vec<u8>,
}

thread_local! {
    static STATE: RefCell<PageState> = RefCell::default();
}

/// Makes room for a request of `length` bytes, and returns the place to write it to.
#[unsafe(no_mangle)]
extern "C" fn request(length: usize) -> *mut u8 {
    std::panic::set_hook(Box::new(|panic| {
        let text = panic.to_string();
        panicked(text.as_ptr(), text.len());
    }));
    STATE.with_borrow_mut(|state| {
        state.text = vec![0; length];
        state.text.as_mut_ptr()
    })
}

/// Answers the request: returns 1 with a document, 0 with an error message.
#[unsafe(no_mangle)]
extern "C" fn answer() -> u32 {
    STATE.with_borrow_mut(|state| {
        let request = String::from_utf8_lossy(&std::mem::take(&mut state.text)).into_owned();
        let answer = state.engine.answer(&request, |part| progress(part));
        let is_ok = answer.is_ok();
        state.text = answer.unwrap_or_else(|wrong| wrong).into_bytes();
        is_ok.into()
    })
}

/// The place of the answer.
#[unsafe(no_mangle)]
extern "C" fn answer_start() -> *const u8 {
    STATE.with_borrow(|state| state.text.as_ptr())
}

/// The length of the answer in bytes.
#[unsafe(no_mangle)]
extern "C" fn answer_length() -> usize {
    STATE.with_borrow(|state| state.text.len())
}
