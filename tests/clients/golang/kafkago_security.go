package main

import (
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
)

func newKafkaGo(bootstrap string, security *security) library {
	dialer := &kafka.Dialer{Timeout: 10 * time.Second, DualStack: true} // as its default one
	transport := &kafka.Transport{}
	if security != nil {
		mechanism := kafkaGoMechanism(security)
		dialer.TLS, dialer.SASLMechanism = security.tls, mechanism
		transport.TLS, transport.SASL = security.tls, mechanism
	}
	client := &kafka.Client{Addr: kafka.TCP(bootstrap), Timeout: 30 * time.Second, Transport: transport}
	return kafkaGo{bootstrap, client, transport, dialer}
}

// It has no OAUTHBEARER.
func kafkaGoMechanism(security *security) sasl.Mechanism {
	algorithms := map[string]scram.Algorithm{"SCRAM-SHA-256": scram.SHA256, "SCRAM-SHA-512": scram.SHA512}
	switch security.Mechanism {
	case "":
		return nil
	case "PLAIN":
		return plain.Mechanism{Username: security.Username, Password: security.Password}
	}
	mechanism, err := scram.Mechanism(algorithms[security.Mechanism], security.Username, security.Password)
	if err != nil {
		panic(err)
	}
	return mechanism
}
