//! A group member, in either protocol.

use std::collections::HashMap;
use std::error::Error;
use std::mem::take;
use std::sync::Mutex;
use std::time::Duration;

use rdkafka::client::OAuthToken;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer, ConsumerContext, Rebalance};
use rdkafka::error::KafkaError;
use rdkafka::message::Message;
use rdkafka::{ClientContext, Offset, TopicPartitionList};

use crate::connection::{Connection, Servers};
use crate::consumer::record_of;
use crate::protocol::{say, Answer, Failure, Join, Requests};

const POLL: Duration = Duration::from_millis(100);
const RECORDS_MAX: usize = 50;

/// Commits when there is nothing to read, periodically, and before partitions are revoked.
struct Member {
    connection: Connection,
    topic: String,
    pending: Mutex<HashMap<i32, i64>>,
    failure: Mutex<Option<KafkaError>>,
}

impl Member {
    fn commit(&self, consumer: &BaseConsumer<Self>) -> Result<(), KafkaError> {
        let pending = take(&mut *self.pending.lock().expect("no callback panics"));
        if pending.is_empty() {
            return Ok(());
        }
        let mut offsets = TopicPartitionList::new();
        for (partition, end) in &pending {
            offsets.add_partition_offset(&self.topic, *partition, Offset::Offset(*end))?;
        }
        consumer.commit(&offsets, CommitMode::Sync)?;
        say(&Answer::committed(pending.into_iter().collect()));
        Ok(())
    }
}

impl ClientContext for Member {
    const ENABLE_REFRESH_OAUTH_TOKEN: bool = true;

    fn generate_oauth_token(&self, _config: Option<&str>) -> Result<OAuthToken, Box<dyn Error>> {
        self.connection.token()
    }
}

impl ConsumerContext for Member {
    /// Partitions that were lost have other owners already, and their commits must not be overwritten.
    fn pre_rebalance(&self, consumer: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if !matches!(rebalance, Rebalance::Revoke(_)) {
            return;
        }
        if consumer.assignment_lost() {
            self.pending.lock().expect("no callback panics").clear();
        } else if let Err(error) = self.commit(consumer) {
            self.failure.lock().expect("no callback panics").get_or_insert(error);
        }
    }
}

pub fn join(servers: &Servers, asked: &Join, requests: &Requests) -> Result<(), Failure> {
    let consumer = consumer(servers, asked)?;
    consumer.subscribe(&[&asked.topic])?;
    let mut records = 0;
    while !requests.leaving() {
        records = step(&consumer, records)?;
    }
    consumer.context().commit(&consumer)?;
    Ok(())
}

/// Processes a record, and returns how many were processed since the last commit.
fn step(consumer: &BaseConsumer<Member>, records: usize) -> Result<usize, KafkaError> {
    let member = consumer.context();
    let processed = match consumer.poll(POLL) {
        Some(message) => {
            let message = message?;
            say(&Answer::record(record_of(&message)));
            let mut pending = member.pending.lock().expect("no callback panics");
            pending.insert(message.partition(), message.offset() + 1);
            true
        }
        None => false,
    };
    if let Some(error) = member.failure.lock().expect("no callback panics").take() {
        return Err(error);
    }
    if processed && records + 1 < RECORDS_MAX {
        return Ok(records + 1);
    }
    member.commit(consumer)?;
    Ok(0)
}

fn consumer(servers: &Servers, asked: &Join) -> Result<BaseConsumer<Member>, KafkaError> {
    let mut config = servers.config();
    config.set("group.id", &asked.group).set("group.protocol", &asked.protocol);
    config.set("auto.offset.reset", "earliest").set("enable.auto.commit", "false");
    if asked.protocol == "classic" {
        // librdkafka rejects these in the other protocol
        config.set("session.timeout.ms", asked.session_ms.to_string());
        config.set("heartbeat.interval.ms", asked.heartbeat_ms.to_string());
    }
    let member = Member {
        connection: servers.connection(),
        topic: asked.topic.clone(),
        pending: Mutex::new(HashMap::new()),
        failure: Mutex::new(None),
    };
    config.create_with_context(member)
}
