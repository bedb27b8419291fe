//! Client program for rust-rdkafka: dray-test-rdkafka BOOTSTRAP [SECURITY].

mod connection;
mod consumer;
mod member;
mod producer;
mod protocol;

use std::time::Duration;

use futures_executor::block_on;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::error::KafkaError;
use rdkafka::types::RDKafkaErrorCode;

use connection::{Connection, Servers};
use protocol::{say, Answer, Failure, Request, Requests};

const WAIT: Duration = Duration::from_secs(30);

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let servers = Servers::new(&arguments[1], arguments.get(2));
    let requests = Requests::read();
    while let Some(request) = requests.next() {
        if matches!(request, Request::Leave) {
            continue; // it has ended what went before it
        }
        match answer(&servers, request, &requests) {
            Ok(done) => say(&done),
            Err(failure) => say(&Answer::failed(failure)),
        }
    }
}

fn answer(servers: &Servers, request: Request, requests: &Requests) -> Result<Answer, Failure> {
    match request {
        Request::CreateTopic { topic, partitions, configs } => create_topic(servers, &topic, partitions, &configs),
        Request::DescribeTopic { topic } => {
            Ok(Answer { bounds: Some(consumer::bounds(servers, &topic)?), ..Answer::done() })
        }
        Request::Produce(asked) => Ok(Answer { placed: Some(producer::produce(servers, &asked)?), ..Answer::done() }),
        Request::Consume(asked) => consumer::consume(servers, &asked).map(|()| Answer::done()),
        Request::Join(asked) => member::join(servers, &asked, requests).map(|()| Answer::done()),
        Request::Leave => unreachable!("it has no answer"),
    }
}

fn create_topic(
    servers: &Servers,
    name: &str,
    partitions: i32,
    configs: &std::collections::HashMap<String, String>,
) -> Result<Answer, Failure> {
    let admin: AdminClient<Connection> = servers.config().create_with_context(servers.connection())?;
    let mut topic = NewTopic::new(name, partitions, TopicReplication::Fixed(1));
    for (key, value) in configs {
        topic = topic.set(key, value);
    }
    let options = AdminOptions::new().request_timeout(Some(WAIT));
    for created in block_on(admin.create_topics([&topic], &options))? {
        created.map_err(|(_, code): (String, RDKafkaErrorCode)| KafkaError::AdminOp(code))?;
    }
    Ok(Answer::done())
}
