//! A derive that accepts what schemars' does, and makes an empty implementation.
//!
//! The schema of scenarios is derived from their structs in a test, which keeps it as a file
//! (`scenarios/schema.json`). The program reads that file. So a build needs neither schemars nor the code that it
//! would make of each struct.

use proc_macro::{TokenStream, TokenTree};

/// An empty `JsonSchema` for a type without parameters.
#[proc_macro_derive(JsonSchema, attributes(schemars))]
pub fn json_schema(input: TokenStream) -> TokenStream {
    let mut is_next = false;
    for token in input {
        if let TokenTree::Ident(word) = token {
            if is_next {
                let text = format!("impl ::schemars::JsonSchema for {word} {{}}");
                return text.parse().expect("an implementation");
            }
            is_next = matches!(word.to_string().as_str(), "struct" | "enum");
        }
    }
    panic!("derived for a struct or an enum");
}
