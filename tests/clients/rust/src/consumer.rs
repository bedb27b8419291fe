//! Reading partitions by assignment.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::{BorrowedMessage, Headers, Message};
use rdkafka::{Offset, TopicPartitionList};

use crate::connection::{Connection, Servers};
use crate::protocol::{say, Answer, Bytes, Consume, Failure, Record};
use crate::WAIT;

const POLL: Duration = Duration::from_millis(100);

pub fn bounds(servers: &Servers, topic: &str) -> Result<Vec<(i64, i64)>, Failure> {
    let consumer = consumer(servers)?;
    let metadata = consumer.fetch_metadata(Some(topic), WAIT)?;
    let found = &metadata.topics()[0];
    if let Some(error) = found.error() {
        return Err(KafkaError::MetadataFetch(error.into()).into());
    }
    let mut numbers: Vec<i32> = found.partitions().iter().map(|partition| partition.id()).collect();
    numbers.sort_unstable();
    numbers.into_iter().map(|number| Ok(consumer.fetch_watermarks(topic, number, WAIT)?)).collect()
}

pub fn consume(servers: &Servers, asked: &Consume) -> Result<(), Failure> {
    let consumer = consumer(servers)?;
    consumer.assign(&starts(&consumer, asked)?)?;
    read(&consumer, asked)
}

/// The group id is required but unused: partitions are assigned, and no offsets are committed.
fn consumer(servers: &Servers) -> Result<BaseConsumer<Connection>, KafkaError> {
    let mut config = servers.config();
    config.set("group.id", "none").set("enable.auto.commit", "false").set("enable.partition.eof", "true");
    config.create_with_context(servers.connection())
}

fn starts(consumer: &BaseConsumer<Connection>, asked: &Consume) -> Result<TopicPartitionList, KafkaError> {
    let start = match asked.start.as_str() {
        "earliest" => Offset::Beginning,
        "latest" => Offset::End,
        _ => Offset::Offset(asked.value),
    };
    let mut wanted = TopicPartitionList::new();
    for number in &asked.partitions {
        wanted.add_partition_offset(&asked.topic, *number, start)?;
    }
    if asked.start == "timestamp" {
        return consumer.offsets_for_times(wanted, WAIT);
    }
    Ok(wanted)
}

/// The end of a partition is an event; for `latest` it shows that the start position is resolved.
fn read(consumer: &BaseConsumer<Connection>, asked: &Consume) -> Result<(), Failure> {
    let deadline = Instant::now() + Duration::from_millis(asked.timeout_ms);
    let mut unsettled: HashSet<i32> = HashSet::new();
    if asked.start == "latest" {
        unsettled.extend(&asked.partitions);
    }
    let mut count = 0;
    while count < asked.count {
        match consumer.poll(POLL) {
            None if Instant::now() > deadline => {
                return Err(Failure::new(format!("{count} of {} records came", asked.count)));
            }
            None => {}
            Some(Ok(message)) => {
                say(&Answer::record(record_of(&message)));
                count += 1;
            }
            Some(Err(KafkaError::PartitionEOF(number))) => {
                if unsettled.remove(&number) && unsettled.is_empty() {
                    say(&Answer::ready());
                }
            }
            Some(Err(error)) => return Err(error.into()),
        }
    }
    Ok(())
}

pub fn record_of(message: &BorrowedMessage<'_>) -> Record {
    let headers = message.headers().map_or_else(Vec::new, |headers| {
        let owned = |value: &[u8]| Bytes(value.to_vec());
        headers.iter().map(|header| (header.key.to_string(), header.value.map(owned))).collect()
    });
    Record {
        partition: message.partition(),
        offset: message.offset(),
        timestamp: message.timestamp().to_millis(),
        key: message.key().map(|key| Bytes(key.to_vec())),
        value: message.payload().map(|value| Bytes(value.to_vec())),
        headers,
    }
}
