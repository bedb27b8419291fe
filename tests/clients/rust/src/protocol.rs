//! Requests and answers, one JSON object per line, as tests/clients/protocol.py describes them.

use std::collections::HashMap;
use std::io::{stdin, stdout, BufRead, Write};
use std::sync::mpsc::{channel, Receiver, TryRecvError};
use std::thread;

use base64::{engine::general_purpose::STANDARD, Engine};
use rdkafka::error::KafkaError;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Request {
    CreateTopic { topic: String, partitions: i32, configs: HashMap<String, String> },
    DescribeTopic { topic: String },
    Produce(Produce),
    Consume(Consume),
    Join(Join),
    Leave,
}

#[derive(Deserialize)]
pub struct Produce {
    pub topic: String,
    pub records: Vec<Record>,
    pub codec: Option<String>,
    pub idempotent: Option<bool>,
    pub bytes_max: Option<u32>,
}

#[derive(Deserialize)]
pub struct Consume {
    pub topic: String,
    pub count: usize,
    pub partitions: Vec<i32>,
    pub start: String,
    pub value: i64,
    pub timeout_ms: u64,
}

#[derive(Deserialize)]
pub struct Join {
    pub topic: String,
    pub group: String,
    pub protocol: String,
    pub session_ms: u32,
    pub heartbeat_ms: u32,
}

#[derive(Serialize, Deserialize)]
pub struct Record {
    pub partition: i32,
    pub offset: i64,
    pub timestamp: Option<i64>,
    pub key: Option<Bytes>,
    pub value: Option<Bytes>,
    pub headers: Vec<(String, Option<Bytes>)>,
}

/// Bytes that are text in base64 in JSON.
pub struct Bytes(pub Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        STANDARD.decode(text).map(Bytes).map_err(serde::de::Error::custom)
    }
}

#[derive(Serialize, Default)]
pub struct Answer {
    pub is: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<Record>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placed: Option<Vec<(i32, i64)>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Vec<(i64, i64)>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offsets: Option<Vec<(i32, i64)>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
}

impl Answer {
    pub fn done() -> Self {
        Answer { is: "done", ..Answer::default() }
    }

    pub fn ready() -> Self {
        Answer { is: "ready", ..Answer::default() }
    }

    pub fn record(record: Record) -> Self {
        Answer { is: "record", record: Some(record), ..Answer::default() }
    }

    pub fn committed(offsets: Vec<(i32, i64)>) -> Self {
        Answer { is: "committed", offsets: Some(offsets), ..Answer::default() }
    }

    pub fn failed(failure: Failure) -> Self {
        Answer { is: "failed", message: Some(failure.message), code: failure.code, ..Answer::default() }
    }
}

/// What the library reported, with Kafka's error code if it came from a broker.
#[derive(Debug)]
pub struct Failure {
    pub message: String,
    pub code: Option<i32>,
}

impl Failure {
    pub fn new(message: String) -> Self {
        Failure { message, code: None }
    }
}

impl From<KafkaError> for Failure {
    fn from(error: KafkaError) -> Self {
        let code = match &error {
            KafkaError::AdminOp(code) => Some(*code), // the library's own method leaves it out
            other => other.rdkafka_error_code(),
        };
        let code = code.map(|code| code as i32);
        Failure { message: error.to_string(), code: code.filter(|code| *code > 0) }
    }
}

pub fn say(answer: &Answer) {
    let line = serde_json::to_string(answer).expect("answers can be written as JSON");
    writeln!(stdout(), "{line}").expect("the test reads the answers");
}

/// Lines of the input. A thread reads them, so that a group member sees `leave` while it consumes.
pub struct Requests(Receiver<Request>);

impl Requests {
    pub fn read() -> Self {
        let (sender, receiver) = channel();
        thread::spawn(move || {
            for line in stdin().lock().lines() {
                let line = line.expect("the input is text");
                let request = serde_json::from_str(&line).expect("every line is a request");
                if sender.send(request).is_err() {
                    return;
                }
            }
        });
        Requests(receiver)
    }

    /// Returns none at the end of the input.
    pub fn next(&self) -> Option<Request> {
        self.0.recv().ok()
    }

    /// Takes the next line, which can only be `leave`, or the end of the input, if it has arrived.
    pub fn leaving(&self) -> bool {
        !matches!(self.0.try_recv(), Err(TryRecvError::Empty))
    }
}
