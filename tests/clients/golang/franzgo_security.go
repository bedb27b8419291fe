package main

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

func newFranzGo(bootstrap string, security *security) library {
	servers := []kgo.Opt{kgo.SeedBrokers(bootstrap)}
	if security != nil {
		servers = append(servers, kgo.DialTLSConfig(security.tls))
		if mechanism := franzGoMechanism(security); mechanism != nil {
			servers = append(servers, kgo.SASL(mechanism))
		}
	}
	return franzGo{servers}
}

func franzGoMechanism(security *security) sasl.Mechanism {
	switch security.Mechanism {
	case "PLAIN":
		return plain.Auth{User: security.Username, Pass: security.Password}.AsMechanism()
	case "SCRAM-SHA-256":
		return scram.Auth{User: security.Username, Pass: security.Password}.AsSha256Mechanism()
	case "SCRAM-SHA-512":
		return scram.Auth{User: security.Username, Pass: security.Password}.AsSha512Mechanism()
	case "OAUTHBEARER":
		return oauth.Oauth(func(context.Context) (oauth.Auth, error) {
			token, err := security.token()
			return oauth.Auth{Token: token}, err
		})
	}
	return nil
}
