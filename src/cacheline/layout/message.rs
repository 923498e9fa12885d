//! Text put together in constants, for messages of the compiler.

/// As much text as a message needs; what does not fit is cut off.
pub(crate) struct Message {
    bytes: [u8; Self::CAPACITY],
    len: usize,
}

impl Message {
    const CAPACITY: usize = 1024;

    pub(crate) const fn new() -> Self {
        Self { bytes: [0; Self::CAPACITY], len: 0 }
    }

    pub(crate) const fn text(mut self, text: &str) -> Self {
        let text = text.as_bytes();
        // All or nothing, so that no character is cut in two.
        if text.len() <= Self::CAPACITY - self.len {
            let mut at = 0;
            while at < text.len() {
                self.bytes[self.len] = text[at];
                self.len += 1;
                at += 1;
            }
        }
        self
    }

    pub(crate) const fn number(self, number: usize) -> Self {
        let mut digits = [0; 20];
        let (mut at, mut rest) = (digits.len(), number);
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        let (_, digits) = digits.split_at(at);
        match core::str::from_utf8(digits) {
            Ok(digits) => self.text(digits),
            Err(_) => self,
        }
    }

    /// `1 line`, `2 lines`.
    pub(crate) const fn count(self, number: usize, what: &str) -> Self {
        let m = self.number(number).text(" ").text(what);
        if number == 1 { m } else { m.text("s") }
    }

    pub(crate) const fn as_str(&self) -> &str {
        let (text, _) = self.bytes.split_at(self.len);
        match core::str::from_utf8(text) {
            Ok(text) => text,
            Err(_) => "a promise is broken",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_everywhere_else() {
        for number in [0, 1, 9, 10, 64, 1_000, 65_535, usize::MAX] {
            assert_eq!(Message::new().number(number).as_str(), number.to_string());
        }
    }

    #[test]
    fn one_is_not_many() {
        let told = |number| Message::new().count(number, "line").as_str().to_owned();
        assert_eq!([told(0), told(1), told(2)], ["0 lines", "1 line", "2 lines"]);
    }

    #[test]
    fn a_message_that_is_too_long_keeps_what_fits() {
        let long = "ä".repeat(400);
        let message = Message::new().text(&long).text(&long).number(7);
        assert_eq!(message.as_str(), format!("{long}7"));
    }
}
