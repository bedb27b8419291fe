package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"os"
)

// A security has the settings of the program's second argument, as tests/clients/security.py describes them.
type security struct {
	CaFile          string  `json:"ca_file"`
	CertificateFile *string `json:"certificate_file"`
	KeyFile         *string `json:"key_file"`
	Mechanism       string  `json:"mechanism"`
	Username        string  `json:"username"`
	Password        string  `json:"password"`
	TokenFile       string  `json:"token_file"`

	tls *tls.Config
}

func readSecurity(file string) (*security, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	read := &security{}
	if err := json.Unmarshal(data, read); err != nil {
		return nil, err
	}
	authorities, err := os.ReadFile(read.CaFile)
	if err != nil {
		return nil, err
	}
	read.tls = &tls.Config{RootCAs: x509.NewCertPool()}
	if !read.tls.RootCAs.AppendCertsFromPEM(authorities) {
		return nil, errors.New("no certificate in " + read.CaFile)
	}
	if read.CertificateFile != nil && read.KeyFile != nil {
		own, err := tls.LoadX509KeyPair(*read.CertificateFile, *read.KeyFile)
		if err != nil {
			return nil, err
		}
		read.tls.Certificates = []tls.Certificate{own}
	}
	return read, nil
}

func (s *security) token() (string, error) {
	token, err := os.ReadFile(s.TokenFile)
	return string(token), err
}
