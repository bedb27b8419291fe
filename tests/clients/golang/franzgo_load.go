package main

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const loadInterval = time.Millisecond // between two records

// Load writes to partition 0 until ctx is over.
func (f franzGo) load(ctx context.Context, asked request) ([][2]int64, error) {
	client, err := f.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	var lock sync.Mutex
	var failure error
	placed := [][2]int64{}
	for ctx.Err() == nil {
		client.Produce(context.Background(), &kgo.Record{Topic: asked.Topic, Value: []byte("load")}, func(sent *kgo.Record, err error) {
			lock.Lock()
			defer lock.Unlock()
			if err != nil && failure == nil {
				failure = err
			}
			placed = append(placed, [2]int64{int64(sent.Partition), sent.Offset})
		})
		time.Sleep(loadInterval)
	}
	if err := client.Flush(context.Background()); err != nil {
		return nil, err
	}
	lock.Lock()
	defer lock.Unlock()
	return placed, failure
}
