// Client programs for franz-go, sarama and kafka-go in one binary: clients LIBRARY BOOTSTRAP.
package main

import (
	"fmt"
	"os"
)

func main() {
	libraries := map[string]func(bootstrap string) library{
		"franz-go": func(bootstrap string) library { return franzGo{bootstrap} },
		"sarama":   func(bootstrap string) library { return saramaLibrary{bootstrap} },
		"kafka-go": func(bootstrap string) library { return newKafkaGo(bootstrap) },
	}
	if len(os.Args) != 3 || libraries[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: clients franz-go|sarama|kafka-go BOOTSTRAP")
		os.Exit(2)
	}
	serve(libraries[os.Args[1]](os.Args[2]))
}
