//! Counts the bytes that readers go over, in tests: work that no clock blurs.

/// So many bytes were gone over.
#[inline]
pub(super) fn add(_bytes: usize) {
    #[cfg(test)]
    TAKEN.with(|taken| taken.set(taken.get() + _bytes as u64));
}

#[cfg(test)]
thread_local! {
    static TAKEN: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// What this thread has gone over so far.
#[cfg(test)]
pub(super) fn taken() -> u64 {
    TAKEN.with(std::cell::Cell::get)
}
