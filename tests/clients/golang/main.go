// Client programs for franz-go, sarama and kafka-go in one binary: clients LIBRARY BOOTSTRAP [SECURITY].
package main

import (
	"fmt"
	"os"
)

func main() {
	libraries := map[string]func(bootstrap string, security *security) library{
		"franz-go": newFranzGo,
		"sarama":   newSarama,
		"kafka-go": newKafkaGo,
	}
	if len(os.Args) < 3 || len(os.Args) > 4 || libraries[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: clients franz-go|sarama|kafka-go BOOTSTRAP [SECURITY]")
		os.Exit(2)
	}
	var security *security
	if len(os.Args) == 4 {
		var err error
		if security, err = readSecurity(os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	serve(libraries[os.Args[1]](os.Args[2], security))
}
