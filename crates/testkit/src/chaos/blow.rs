//! The faults that come while traces flow.

use std::time::Duration;

use super::Run;
use crate::environment::{self, Service};
use crate::{Direction, PATIENCE, Seed};

/// How long a fault lasts that has no end of its own. Longer than the judge's longest silence.
const WHILE: Duration = Duration::from_secs(5);

/// One fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blow {
    /// `kill -9` of a worker; a new one is started.
    KillWorker,
    /// SIGTERM to a worker, which has to end in order; a new one is started.
    TerminateWorker,
    /// SIGSTOP until the broker has given its deliveries to others, then SIGCONT.
    FreezeWorker,
    /// `kill -9` of RabbitMQ, and a new start.
    KillBroker,
    /// RabbitMQ stops in order and starts again.
    RestartBroker,
    /// RabbitMQ closes every connection.
    CloseConnections,
    /// RabbitMQ is short of memory and takes nothing from publishers for a while.
    MemoryAlarm,
    /// Every connection to RabbitMQ breaks.
    CutBroker,
    /// What RabbitMQ sends does not arrive any more, and nobody is told.
    HalfOpenBroker,
    /// PostgreSQL stops in order and starts again.
    RestartDatabase,
    /// PostgreSQL ends every session.
    TerminateBackends,
    /// Every connection to PostgreSQL breaks.
    CutDatabase,
    /// What PostgreSQL sends does not arrive for a while.
    HalfOpenDatabase,
    /// Every connection to the judge breaks.
    CutJudge,
    /// The judge takes questions and says nothing for a while.
    HungJudge,
}

const ALL: [Blow; 15] = [
    Blow::KillWorker,
    Blow::TerminateWorker,
    Blow::FreezeWorker,
    Blow::KillBroker,
    Blow::RestartBroker,
    Blow::CloseConnections,
    Blow::MemoryAlarm,
    Blow::CutBroker,
    Blow::HalfOpenBroker,
    Blow::RestartDatabase,
    Blow::TerminateBackends,
    Blow::CutDatabase,
    Blow::HalfOpenDatabase,
    Blow::CutJudge,
    Blow::HungJudge,
];

impl Blow {
    /// Calls of the judge that it may cut off, or have made again. `in_flight`: calls at one time of all workers.
    pub(super) fn interrupts(self, in_flight: u64, workers: usize) -> u64 {
        let of_one = in_flight.div_ceil(u64::try_from(workers.max(1)).unwrap_or(1));
        match self {
            Self::KillWorker | Self::TerminateWorker | Self::FreezeWorker => of_one,
            Self::KillBroker
            | Self::RestartBroker
            | Self::CloseConnections
            | Self::CutBroker
            | Self::HalfOpenBroker
            | Self::CutJudge => in_flight,
            // Every quick try of a call may be answered without the answer arriving.
            Self::HungJudge => 3 * in_flight,
            // Replies stay in hand until the database answers again.
            Self::MemoryAlarm
            | Self::RestartDatabase
            | Self::TerminateBackends
            | Self::CutDatabase
            | Self::HalfOpenDatabase => 0,
        }
    }
}

/// So many blows in an order of the seed: whole rounds of all kinds, each shuffled, and then a part of one.
pub(super) fn schedule(seed: &mut Seed, count: usize) -> Vec<Blow> {
    let mut blows = Vec::with_capacity(count + ALL.len());
    while blows.len() < count {
        let mut round = ALL;
        seed.shuffle(&mut round);
        blows.extend(round);
    }
    blows.truncate(count);
    blows
}

pub(super) async fn strike(run: &mut Run, blow: Blow, seed: &mut Seed) {
    let workers = run.workers.len();
    let chosen = usize::try_from(seed.below(u64::try_from(workers).unwrap_or(1))).unwrap_or(0);
    match blow {
        Blow::KillWorker => {
            let worker = run.workers.remove(chosen);
            run.secrets.look_for_in(&worker);
            worker.kill();
            run.workers.push(run.worker());
        }
        Blow::TerminateWorker => {
            let mut worker = run.workers.remove(chosen);
            worker.terminate();
            let code = worker.ended(PATIENCE).await.code();
            // One that was still starting has nothing to finish, and may have given up just then.
            assert!(matches!(code, Some(0 | 3 | 130)), "code {code:?}: {}", worker.log());
            run.secrets.look_for_in(&worker);
            run.workers.push(run.worker());
        }
        Blow::FreezeWorker => {
            run.consumers(workers).await;
            run.workers[chosen].signal("STOP");
            // It misses its heartbeats, the others take its deliveries, and then it comes back to life.
            run.consumers(workers - 1).await;
            run.workers[chosen].signal("CONT");
        }
        Blow::KillBroker | Blow::RestartBroker => {
            // A broker that starts anew begins to count anew.
            run.redeliveries += run.system.vhost.redelivered().await;
            if blow == Blow::KillBroker {
                environment::kill(Service::RabbitMq).await;
            } else {
                environment::restart(Service::RabbitMq).await;
            }
        }
        Blow::CloseConnections => run.system.vhost.close_connections().await,
        Blow::MemoryAlarm => {
            environment::alarm().await;
            crate::wait::while_a_fault_lasts(WHILE).await;
            environment::calm().await;
        }
        Blow::CutBroker => run.system.to_broker.cut(),
        Blow::HalfOpenBroker => {
            run.system.to_broker.blackhole(Direction::ToClient);
            // The workers hear no heartbeat, give up, and cannot come back until the line is whole.
            run.consumers(0).await;
            run.system.to_broker.heal();
            run.system.to_broker.cut();
        }
        Blow::RestartDatabase => environment::restart(Service::Postgres).await,
        Blow::TerminateBackends => run.system.database.terminate_backends().await,
        Blow::CutDatabase => run.system.to_database.cut(),
        Blow::HalfOpenDatabase => {
            run.system.to_database.blackhole(Direction::ToClient);
            crate::wait::while_a_fault_lasts(WHILE).await;
            run.system.to_database.heal();
        }
        Blow::CutJudge => run.system.to_judge.cut(),
        Blow::HungJudge => {
            run.system.to_judge.blackhole(Direction::ToClient);
            crate::wait::while_a_fault_lasts(WHILE).await;
            run.system.to_judge.heal();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_comes_once_in_each_round_and_a_seed_repeats_its_schedule() {
        let blows = schedule(&mut Seed::of(7), 30);
        for kind in ALL {
            assert_eq!(blows[..15].iter().filter(|blow| **blow == kind).count(), 1);
            assert_eq!(blows[15..].iter().filter(|blow| **blow == kind).count(), 1);
        }
        assert_eq!(blows, schedule(&mut Seed::of(7), 30));
        assert_ne!(blows, schedule(&mut Seed::of(8), 30));
        assert_eq!(schedule(&mut Seed::of(7), 4).len(), 4);
    }
}
