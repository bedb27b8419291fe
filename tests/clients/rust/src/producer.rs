//! Producing records.

use std::error::Error;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rdkafka::client::OAuthToken;
use rdkafka::error::KafkaError;
use rdkafka::message::{DeliveryResult, Header, Message, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer, ProducerContext};
use rdkafka::types::RDKafkaErrorCode;
use rdkafka::ClientContext;

use crate::connection::{Connection, Servers};
use crate::protocol::{Failure, Produce, Record};
use crate::WAIT;

const POLL: Duration = Duration::from_millis(100);

type Outcome = Result<(i32, i64), KafkaError>;

/// Keeps the outcome of each record by its number.
struct Deliveries {
    connection: Connection,
    outcomes: Mutex<Vec<Option<Outcome>>>,
}

impl ClientContext for Deliveries {
    const ENABLE_REFRESH_OAUTH_TOKEN: bool = true;

    fn error(&self, error: KafkaError, reason: &str) {
        self.connection.note(&error, reason);
    }

    fn generate_oauth_token(&self, _config: Option<&str>) -> Result<OAuthToken, Box<dyn Error>> {
        self.connection.token()
    }
}

impl ProducerContext for Deliveries {
    type DeliveryOpaque = usize;

    fn delivery(&self, result: &DeliveryResult<'_>, number: usize) {
        let outcome = match result {
            Ok(message) => Ok((message.partition(), message.offset())),
            Err((error, _)) => Err(error.clone()),
        };
        self.outcomes.lock().expect("no callback panics")[number] = Some(outcome);
    }
}

pub fn produce(servers: &Servers, asked: &Produce) -> Result<Vec<(i32, i64)>, Failure> {
    let outcomes = asked.records.iter().map(|_| None).collect();
    let context = Deliveries { connection: servers.connection(), outcomes: Mutex::new(outcomes) };
    let producer = producer(servers, asked, context)?;
    for (number, record) in asked.records.iter().enumerate() {
        send(&producer, &asked.topic, record, number)?;
    }
    let deadline = Instant::now() + WAIT;
    while producer.in_flight_count() > 0 {
        producer.poll(POLL);
        producer.context().connection.check()?;
        if Instant::now() > deadline {
            return Err(Failure::new("not every record was delivered".to_string()));
        }
    }
    let mut outcomes = producer.context().outcomes.lock().expect("no callback panics");
    let placed: Result<Vec<_>, KafkaError> =
        outcomes.drain(..).map(|outcome| outcome.expect("nothing is in flight")).collect();
    Ok(placed?)
}

fn producer(servers: &Servers, asked: &Produce, context: Deliveries) -> Result<BaseProducer<Deliveries>, KafkaError> {
    let mut config = servers.config();
    if let Some(codec) = &asked.codec {
        config.set("compression.type", codec);
    }
    if let Some(idempotent) = asked.idempotent {
        config.set("enable.idempotence", idempotent.to_string());
    }
    if let Some(bytes_max) = asked.bytes_max {
        config.set("message.max.bytes", bytes_max.to_string());
    }
    config.create_with_context(context)
}

fn send(
    producer: &BaseProducer<Deliveries>,
    topic: &str,
    record: &Record,
    number: usize,
) -> Result<(), KafkaError> {
    let mut next = to_send(topic, record, number);
    loop {
        match producer.send(next) {
            Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), returned)) => {
                next = returned;
                producer.poll(POLL);
            }
            other => return other.map_err(|(error, _)| error),
        }
    }
}

fn to_send<'a>(topic: &'a str, record: &'a Record, number: usize) -> BaseRecord<'a, [u8], [u8], usize> {
    let mut headers = OwnedHeaders::new();
    for (key, value) in &record.headers {
        headers = headers.insert(Header { key, value: value.as_ref().map(|value| &value.0) });
    }
    let mut made = BaseRecord::with_opaque_to(topic, number).partition(record.partition).headers(headers);
    if let Some(key) = &record.key {
        made = made.key(&key.0[..]);
    }
    if let Some(value) = &record.value {
        made = made.payload(&value.0[..]);
    }
    match record.timestamp {
        Some(timestamp) => made.timestamp(timestamp),
        None => made,
    }
}
