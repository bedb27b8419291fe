package main

import (
	"github.com/IBM/sarama"
	"github.com/xdg-go/scram"
)

func newSarama(bootstrap string, security *security) library {
	return saramaLibrary{bootstrap, security}
}

// Config has the library's defaults and the connection settings.
func (s saramaLibrary) config() *sarama.Config {
	config := sarama.NewConfig()
	if s.security == nil {
		return config
	}
	config.Net.TLS.Enable = true
	config.Net.TLS.Config = s.security.tls
	if s.security.Mechanism != "" {
		config.Net.SASL.Enable = true
		config.Net.SASL.Mechanism = sarama.SASLMechanism(s.security.Mechanism)
		config.Net.SASL.User = s.security.Username
		config.Net.SASL.Password = s.security.Password
		config.Net.SASL.TokenProvider = saramaTokens{s.security}
		config.Net.SASL.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient {
			return &saramaScram{hash: map[string]scram.HashGeneratorFcn{
				"SCRAM-SHA-256": scram.SHA256, "SCRAM-SHA-512": scram.SHA512,
			}[s.security.Mechanism]}
		}
	}
	return config
}

type saramaTokens struct{ security *security }

func (t saramaTokens) Token() (*sarama.AccessToken, error) {
	token, err := t.security.token()
	return &sarama.AccessToken{Token: token}, err
}

// A saramaScram is the SCRAM client that sarama leaves to its users.
type saramaScram struct {
	hash scram.HashGeneratorFcn
	*scram.ClientConversation
}

func (s *saramaScram) Begin(user, password, authorizationID string) error {
	client, err := s.hash.NewClient(user, password, authorizationID)
	if err == nil {
		s.ClientConversation = client.NewConversation()
	}
	return err
}
