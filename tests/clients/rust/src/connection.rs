//! Connection settings, and the callbacks that all clients have.

use std::error::Error;
use std::fs;
use std::sync::Mutex;

use base64::{engine::general_purpose::URL_SAFE_NO_PAD, Engine};
use rdkafka::client::OAuthToken;
use rdkafka::consumer::ConsumerContext;
use rdkafka::error::KafkaError;
use rdkafka::types::RDKafkaErrorCode;
use rdkafka::{ClientConfig, ClientContext};
use serde::Deserialize;

use crate::protocol::Failure;

/// The settings of the second argument, as tests/clients/security.py describes them.
#[derive(Clone, Deserialize)]
struct Security {
    ca_file: String,
    certificate_file: Option<String>,
    key_file: Option<String>,
    mechanism: Option<String>,
    username: Option<String>,
    password: Option<String>,
    token_file: Option<String>,
}

pub struct Servers {
    bootstrap: String,
    security: Option<Security>,
}

impl Servers {
    pub fn new(bootstrap: &str, file: Option<&String>) -> Self {
        let security = file.map(|file| {
            let text = fs::read_to_string(file).expect("the security settings can be read");
            serde_json::from_str(&text).expect("the security settings are JSON")
        });
        Servers { bootstrap: bootstrap.to_string(), security }
    }

    pub fn config(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", &self.bootstrap);
        let Some(given) = &self.security else { return config };
        config.set("security.protocol", if given.mechanism.is_some() { "SASL_SSL" } else { "SSL" });
        config.set("ssl.ca.location", &given.ca_file);
        let optional = [
            ("ssl.certificate.location", &given.certificate_file),
            ("ssl.key.location", &given.key_file),
            ("sasl.mechanism", &given.mechanism),
            ("sasl.username", &given.username),
            ("sasl.password", &given.password),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                config.set(name, value);
            }
        }
        config
    }

    pub fn connection(&self) -> Connection {
        let token_file = self.security.as_ref().and_then(|given| given.token_file.clone());
        Connection { token_file, refused: Mutex::new(None) }
    }
}

/// Supplies tokens, and keeps the first error that says that a broker does not let the client in.
pub struct Connection {
    token_file: Option<String>,
    refused: Mutex<Option<Failure>>,
}

impl Connection {
    /// Fails if a broker has refused the client; librdkafka itself would try again until a timeout.
    pub fn check(&self) -> Result<(), Failure> {
        match self.refused.lock().expect("no callback panics").take() {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }

    pub fn note(&self, error: &KafkaError, reason: &str) {
        let refusals = [Some(RDKafkaErrorCode::Authentication), Some(RDKafkaErrorCode::SSL)];
        if refusals.contains(&error.rdkafka_error_code()) || reason.contains("SSL alert") {
            let failure = Failure::new(format!("{error}: {reason}"));
            self.refused.lock().expect("no callback panics").get_or_insert(failure);
        }
    }

    pub fn token(&self) -> Result<OAuthToken, Box<dyn Error>> {
        let token = fs::read_to_string(self.token_file.as_ref().ok_or("no token is configured")?)?;
        let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1).ok_or("the token has no claims")?)?;
        let claims: serde_json::Value = serde_json::from_slice(&claims)?;
        let expires_s = claims["exp"].as_i64().ok_or("the token does not expire")?;
        let principal_name = claims["sub"].as_str().ok_or("the token has no subject")?.to_string();
        Ok(OAuthToken { token, principal_name, lifetime_ms: expires_s * 1000 })
    }
}

impl ClientContext for Connection {
    const ENABLE_REFRESH_OAUTH_TOKEN: bool = true;

    fn error(&self, error: KafkaError, reason: &str) {
        self.note(&error, reason);
    }

    fn generate_oauth_token(&self, _config: Option<&str>) -> Result<OAuthToken, Box<dyn Error>> {
        self.token()
    }
}

impl ConsumerContext for Connection {}
