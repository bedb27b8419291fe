package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// The protocol of the programs is described in tests/clients/protocol.py.

type request struct {
	Do         string            `json:"do"`
	Topic      string            `json:"topic"`
	Configs    map[string]string `json:"configs"`
	Partitions json.RawMessage   `json:"partitions"` // how many to create, or which to consume
	Codec      *string           `json:"codec"`
	Idempotent *bool             `json:"idempotent"`
	BytesMax   *int              `json:"bytes_max"`
	TxnID      *string           `json:"transactional_id"`
	Records    []record          `json:"records"`
	Start      string            `json:"start"`
	Value      int64             `json:"value"`
	Count      int               `json:"count"`
	TimeoutMs  int64             `json:"timeout_ms"`
	Group      string            `json:"group"`
	Protocol   string            `json:"protocol"`
	SessionMs  int64             `json:"session_ms"`
	BeatMs     int64             `json:"heartbeat_ms"`
}

func (r request) session() time.Duration   { return time.Duration(r.SessionMs) * time.Millisecond }
func (r request) heartbeat() time.Duration { return time.Duration(r.BeatMs) * time.Millisecond }

type record struct {
	Partition int32    `json:"partition"`
	Offset    int64    `json:"offset"`
	Timestamp *int64   `json:"timestamp"`
	Key       []byte   `json:"key"`
	Value     []byte   `json:"value"`
	Headers   []header `json:"headers"`
}

// A header is a pair in JSON.
type header struct {
	name  string
	value []byte
}

func (h header) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{h.name, h.value})
}

func (h *header) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&h.name, &h.value})
}

type answer struct {
	Is      string     `json:"is"`
	Record  *record    `json:"record,omitempty"`
	Placed  [][2]int64 `json:"placed,omitempty"`
	Bounds  [][2]int64 `json:"bounds,omitempty"`
	Offsets [][2]int64 `json:"offsets,omitempty"`
	Message string     `json:"message,omitempty"`
	Code    *int       `json:"code,omitempty"`
}

// A library is one client library behind the common interface.
type library interface {
	createTopic(topic string, partitions int32, configs map[string]string) error
	describeTopic(topic string) (bounds [][2]int64, err error)
	produce(asked request) (placed [][2]int64, err error)
	consume(asked request, partitions []int32, answers *answers) error
	join(ctx context.Context, asked request) error // until ctx is over
	codeOf(err error) *int
}

// A loader is a library that can also write until it is asked to stop.
type loader interface {
	load(ctx context.Context, asked request) (placed [][2]int64, err error) // until ctx is over
}

// Answers counts the records returned and knows when to stop.
type answers struct {
	wanted   int
	count    int
	deadline time.Time
}

func (a *answers) complete() bool { return a.count >= a.wanted }

func (a *answers) ready() { say(answer{Is: "ready"}) }

func (a *answers) record(one record) {
	if !a.complete() {
		say(answer{Is: "record", Record: &one})
		a.count++
	}
}

func (a *answers) outOfTime() error {
	return fmt.Errorf("out of time: %d of %d records came", a.count, a.wanted)
}

// Committed sends the committed offsets of some partitions.
func committed(offsets map[int32]int64) {
	one := answer{Is: "committed"}
	for partition, offset := range offsets {
		one.Offsets = append(one.Offsets, [2]int64{int64(partition), offset})
	}
	say(one)
}

var (
	output  = json.NewEncoder(os.Stdout)
	talking sync.Mutex // some libraries process partitions side by side
)

func say(one answer) {
	talking.Lock()
	defer talking.Unlock()
	if err := output.Encode(one); err != nil {
		panic(err)
	}
}

// Requests are read ahead, so that a group member sees `leave` while it consumes.
func requests() <-chan request {
	coming := make(chan request)
	go func() {
		defer close(coming)
		input := bufio.NewReader(os.Stdin)
		for {
			line, err := input.ReadBytes('\n')
			if errors.Is(err, io.EOF) {
				return
			}
			var asked request
			if err == nil {
				err = json.Unmarshal(line, &asked)
			}
			if err != nil {
				panic(err)
			}
			coming <- asked
		}
	}()
	return coming
}

func serve(served library) {
	coming := requests()
	for asked := range coming {
		done, err := do(served, asked, coming)
		if err != nil {
			done = answer{Is: "failed", Message: fmt.Sprintf("%T: %v", err, err), Code: served.codeOf(err)}
		}
		say(done)
	}
}

// UntilNext returns a context that lasts until the next request, which can only be leave, or the end of the input.
func untilNext(coming <-chan request) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-coming
		cancel()
	}()
	return ctx, cancel
}

func do(served library, asked request, coming <-chan request) (done answer, err error) {
	done.Is = "done"
	switch asked.Do {
	case "create_topic":
		var count int32
		if err = json.Unmarshal(asked.Partitions, &count); err == nil {
			err = served.createTopic(asked.Topic, count, asked.Configs)
		}
	case "describe_topic":
		done.Bounds, err = served.describeTopic(asked.Topic)
	case "produce":
		done.Placed, err = served.produce(asked)
	case "consume":
		var partitions []int32
		if err = json.Unmarshal(asked.Partitions, &partitions); err == nil {
			deadline := time.Now().Add(time.Duration(asked.TimeoutMs) * time.Millisecond)
			err = served.consume(asked, partitions, &answers{wanted: asked.Count, deadline: deadline})
		}
	case "join":
		ctx, cancel := untilNext(coming)
		defer cancel()
		err = served.join(ctx, asked)
	case "load":
		loads, able := served.(loader)
		if !able {
			return done, fmt.Errorf("%T cannot write until it is asked to stop", served)
		}
		ctx, cancel := untilNext(coming)
		defer cancel()
		done.Placed, err = loads.load(ctx, asked)
	default:
		err = fmt.Errorf("no such request: %q", asked.Do)
	}
	return done, err
}
