package main

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const recordsMax = 50 // processed between two commits

// Partitions may be revoked only between two batches, when everything is committed.
func (f franzGo) join(ctx context.Context, asked request) error {
	client, err := f.client(f.memberOptions(asked)...)
	if err != nil {
		return err
	}
	defer client.CloseAllowingRebalance()
	for ctx.Err() == nil {
		if err := f.step(ctx, client); err != nil {
			return err
		}
		client.AllowRebalance()
	}
	return nil
}

func (f franzGo) memberOptions(asked request) []kgo.Opt {
	options := []kgo.Opt{
		kgo.ConsumerGroup(asked.Group),
		kgo.ConsumeTopics(asked.Topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
		kgo.FetchMaxWait(500 * time.Millisecond), // its default of 5 s would delay partitions just taken over
	}
	if asked.Protocol == "consumer" {
		return append(options, kgo.ServerSideBalancer(), kgo.Balancers(kgo.RangeBalancer()))
	}
	return append(options, kgo.SessionTimeout(asked.session()), kgo.HeartbeatInterval(asked.heartbeat()))
}

func (f franzGo) step(ctx context.Context, client *kgo.Client) error {
	waiting, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	fetched := client.PollRecords(waiting, recordsMax)
	if err := fetched.Err(); err != nil && !errors.Is(err, waiting.Err()) {
		return err
	}
	ends := map[int32]int64{}
	fetched.EachRecord(func(read *kgo.Record) {
		one := f.record(read)
		say(answer{Is: "record", Record: &one})
		ends[read.Partition] = read.Offset + 1
	})
	if len(ends) == 0 {
		return nil
	}
	if err := client.CommitRecords(context.Background(), fetched.Records()...); err != nil {
		return err
	}
	committed(ends)
	return nil
}
