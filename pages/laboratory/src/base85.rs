//! Bytes as text: five letters for four bytes, where base64 has four letters for three bytes.
//!
//! Digits are the printable letters from `#` on, except `<`, which could end a script in a page. The last group
//! may be shorter: *n* bytes become *n* + 1 letters.

/// The letter of a digit, 0 to 84.
fn letter(digit: u32) -> char {
    let code = 35 + digit as u8;
    char::from(if code < b'<' { code } else { code + 1 })
}

/// The digit of a letter.
fn digit(letter: u8) -> Option<u64> {
    match letter {
        35..=59 => Some(u64::from(letter) - 35),
        61..=120 => Some(u64::from(letter) - 36),
        _ => None,
    }
}

/// Bytes as text.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() / 4 * 5 + 5);
    for group in bytes.chunks(4) {
        let mut four = [0; 4];
        four[..group.len()].copy_from_slice(group);
        let number = u32::from_be_bytes(four);
        let letters = (0..5).rev().map(|place| letter(number / 85_u32.pow(place) % 85));
        text.extend(letters.take(group.len() + 1));
    }
    text
}

/// Text as bytes; `None` if it is not an output of [`encode`].
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 5 * 4 + 4);
    for group in text.as_bytes().chunks(5) {
        let mut number = 0;
        for place in 0..5 {
            // missing letters count as the largest digit
            number = number * 85 + group.get(place).map_or(Some(84), |letter| digit(*letter))?;
        }
        let four = u32::try_from(number).ok()?.to_be_bytes();
        bytes.extend(&four[..group.len() - 1]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back() {
        for length in 0..40_u32 {
            let bytes: Vec<u8> = (0..length).map(|at| (at * 89 + length * 31) as u8).collect();
            let text = encode(&bytes);
            assert_eq!(decode(&text), Some(bytes), "{text}");
            assert!(text.bytes().all(|letter| letter.is_ascii_graphic() && letter != b'<'));
        }
        assert_eq!(decode(&encode(&[255; 9])), Some(vec![255; 9]));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["<", "#####\n", "xxxxx", "é"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
