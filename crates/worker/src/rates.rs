//! Traces per minute that a project may put into its own lane; what is above goes to bulk.

use std::collections::HashMap;
use std::num::NonZeroU32;

use governor::clock::DefaultClock;
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::HashMapStateStore;
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};

use crate::settings::Settings;

/// After so many projects that have no section of their own, those that were silent are forgotten.
const MANY: usize = 10_000;

type Keyed = RateLimiter<String, HashMapStateStore<String>, DefaultClock, NoOpMiddleware>;

/// The rates of all projects, in this process.
#[derive(Debug)]
pub(crate) struct Rates {
    named: HashMap<String, Option<DefaultDirectRateLimiter>>,
    others: Option<Keyed>,
}

impl Rates {
    pub(crate) fn new(settings: &Settings) -> Self {
        let quota = |per_minute: u32| NonZeroU32::new(per_minute).map(Quota::per_minute);
        let named = settings
            .projects
            .iter()
            .map(|(name, project)| {
                (name.clone(), quota(project.rate_per_minute).map(DefaultDirectRateLimiter::direct))
            })
            .collect();
        let others = quota(settings.default_project.rate_per_minute).map(Keyed::hashmap);
        Self { named, others }
    }

    /// Counts one trace of a project; false when it is over its rate.
    pub(crate) fn admits(&self, project: &str) -> bool {
        if let Some(own) = self.named.get(project) {
            return own.as_ref().is_none_or(|limiter| limiter.check().is_ok());
        }
        let Some(others) = &self.others else { return true };
        if others.len() > MANY {
            others.retain_recent();
        }
        others.check_key(&project.to_owned()).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use durable::Project;

    #[test]
    fn each_project_has_a_rate_of_its_own() {
        let rated = |rate_per_minute| Project { rate_per_minute, ..Project::default() };
        let mut settings = Settings::for_tests();
        settings.projects = [("two".to_owned(), rated(2)), ("free".to_owned(), rated(0))].into();
        settings.default_project = rated(1);
        let rates = Rates::new(&settings);
        assert_eq!([(); 3].map(|()| rates.admits("two")), [true, true, false]);
        assert_eq!([(); 3].map(|()| rates.admits("free")), [true; 3]);
        assert_eq!([(); 2].map(|()| rates.admits("a stranger")), [true, false]);
        assert!(rates.admits("another stranger"));
    }

    #[test]
    fn without_a_rate_everything_is_admitted() {
        let rates = Rates::new(&Settings::for_tests());
        assert!((0..1000).all(|_| rates.admits("p")));
    }
}
