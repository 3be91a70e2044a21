//! How much an agent may ask for in one pass.

/// Calls and bytes; what is used up stays used up, however many programs ask.
#[derive(Debug, Clone)]
pub struct Budget {
    max_calls: usize,
    max_bytes: usize,
    calls: usize,
    bytes: usize,
}

/// Why nothing more is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spent {
    Calls(usize),
    Bytes(usize),
}

impl Budget {
    /// None when there is nothing to spend: a budget of 0 is off.
    pub fn new(max_calls: usize, max_bytes: usize) -> Option<Self> {
        (max_calls > 0 && max_bytes > 0).then_some(Self { max_calls, max_bytes, calls: 0, bytes: 0 })
    }

    /// Counts a call; how many bytes its answer may have.
    pub(super) fn call(&mut self) -> Result<usize, Spent> {
        if self.calls >= self.max_calls {
            return Err(Spent::Calls(self.max_calls));
        }
        if self.bytes >= self.max_bytes {
            return Err(Spent::Bytes(self.max_bytes));
        }
        self.calls += 1;
        Ok(self.max_bytes - self.bytes)
    }

    /// Counts what an answer took.
    pub(super) fn spend(&mut self, bytes: usize) {
        self.bytes += bytes;
    }

    /// Calls that may still be made.
    pub(super) fn calls_left(&self) -> usize {
        if self.bytes >= self.max_bytes { 0 } else { self.max_calls - self.calls }
    }
}

impl Spent {
    /// What the model is told.
    pub(super) fn sentence(self) -> String {
        let what = match self {
            Self::Calls(most) => format!("all {most} calls"),
            Self::Bytes(most) => format!("all {most} bytes"),
        };
        format!(
            "The reading budget is used up ({what}). Nothing more can be read: write the review now, with what you have."
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_to_spend_is_no_budget() {
        assert!(Budget::new(0, 10).is_none());
        assert!(Budget::new(10, 0).is_none());
        assert!(Budget::new(1, 1).is_some());
    }

    #[test]
    fn what_is_used_up_stays_used_up() {
        let mut budget = Budget::new(3, 100).unwrap();
        assert_eq!(budget.call(), Ok(100));
        budget.spend(60);
        assert_eq!(budget.calls_left(), 2);
        assert_eq!(budget.call(), Ok(40));
        budget.spend(70);
        assert_eq!(budget.calls_left(), 0);
        assert_eq!(budget.call(), Err(Spent::Bytes(100)));
        let mut budget = Budget::new(1, 100).unwrap();
        assert_eq!(budget.call(), Ok(100));
        assert_eq!(budget.call(), Err(Spent::Calls(1)));
        assert!(Spent::Calls(1).sentence().contains("write the review now"));
    }
}
