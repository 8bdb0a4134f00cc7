//! The number of attempts, for messages.

use std::time::Duration;

/// Describes attempts: `tried once`, `tried 5 times in 12 s`: for [`StoreError::Service`](crate::StoreError::Service).
pub(crate) fn describe_attempts(count: u32, took: Duration) -> String {
    match count {
        0 | 1 => "tried once".to_owned(),
        _ if took < Duration::from_secs(10) => format!("tried {count} times in {:.1} s", took.as_secs_f64()),
        _ => format!("tried {count} times in {} s", took.as_secs()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_described_in_words() {
        assert_eq!(describe_attempts(1, Duration::from_secs(3)), "tried once");
        assert_eq!(describe_attempts(3, Duration::from_millis(1540)), "tried 3 times in 1.5 s");
        assert_eq!(describe_attempts(5, Duration::from_millis(12_900)), "tried 5 times in 12 s");
    }
}
