//! When a consumer that receives nothing is taken to be broken.
//!
//! A consumer with room for more, whose queue has messages ready, gets one at once from a healthy broker. So two looks
//! in a row that find messages waiting, with nothing received between them, mean that this subscription is dead,
//! whatever the connection says; two looks without an answer mean the same of the connection.

/// Looks in a row before anything is done.
const LOOKS: u32 = 2;

/// What a look found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// So many messages are ready.
    Waiting(u32),
    /// The broker did not answer.
    Nothing,
}

/// What to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Go on.
    None,
    /// Subscribe again, on a channel of its own.
    Resubscribe,
    /// Replace the connection.
    Reconnect,
}

/// Counts suspicious looks.
#[derive(Debug, Default)]
pub(crate) struct Watchdog {
    waiting: u32,
    unanswered: u32,
}

impl Watchdog {
    /// Something came, or nothing can come.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }

    pub(crate) fn judge(&mut self, seen: Seen) -> Action {
        let action = match seen {
            Seen::Waiting(0) => {
                self.forget();
                return Action::None;
            }
            Seen::Waiting(_) => {
                (self.waiting, self.unanswered) = (self.waiting + 1, 0);
                Action::Resubscribe
            }
            Seen::Nothing => {
                (self.waiting, self.unanswered) = (0, self.unanswered + 1);
                Action::Reconnect
            }
        };
        if self.waiting.max(self.unanswered) < LOOKS {
            return Action::None;
        }
        self.forget();
        action
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn actions(seen: &[Seen]) -> Vec<Action> {
        let mut watchdog = Watchdog::default();
        seen.iter().map(|seen| watchdog.judge(*seen)).collect()
    }

    #[test]
    fn one_look_proves_nothing_and_two_do() {
        use Action::{None, Reconnect, Resubscribe};
        let (some, empty, silent) = (Seen::Waiting(7), Seen::Waiting(0), Seen::Nothing);
        assert_eq!(actions(&[some, some, some, some]), [None, Resubscribe, None, Resubscribe]);
        assert_eq!(actions(&[some, empty, some]), [None, None, None]);
        assert_eq!(actions(&[silent, silent]), [None, Reconnect]);
        assert_eq!(actions(&[some, silent, some, silent]), [None, None, None, None]);
    }

    #[test]
    fn what_came_in_between_clears_the_suspicion() {
        let mut watchdog = Watchdog::default();
        watchdog.judge(Seen::Waiting(1));
        watchdog.forget();
        assert_eq!(watchdog.judge(Seen::Waiting(1)), Action::None);
    }
}
