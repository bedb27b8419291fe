package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"
)

// Its reader supports groups too, but cannot commit what was read before a partition is revoked. So this
// is built on its groups, with a reader for each partition: a generation ends when these have committed and ended.
func (k kafkaGo) join(ctx context.Context, asked request) error {
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID:                asked.Group,
		Brokers:           []string{k.bootstrap},
		Dialer:            k.dialer,
		Topics:            []string{asked.Topic},
		StartOffset:       kafka.FirstOffset,
		SessionTimeout:    asked.session(),
		HeartbeatInterval: asked.heartbeat(),
	})
	if err != nil {
		return err
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	for ctx.Err() == nil {
		generation, err := group.Next(ctx)
		if errors.Is(err, kafka.RebalanceInProgress) {
			continue // the group has changed again before this member had its share
		}
		if err != nil {
			fail(err)
			break
		}
		for _, assigned := range generation.Assignments[asked.Topic] {
			claim := kafkaGoClaim{k, generation, asked.Topic, assigned}
			generation.Start(func(over context.Context) {
				if err := claim.read(over); err != nil {
					fail(err)
				}
			})
		}
	}
	closed := group.Close()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return closed
}

// A kafkaGoClaim is a partition that the member owns for a generation.
type kafkaGoClaim struct {
	library    kafkaGo
	generation *kafka.Generation
	topic      string
	assigned   kafka.PartitionAssignment
}

func (c kafkaGoClaim) read(over context.Context) error {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers:   []string{c.library.bootstrap},
		Dialer:    c.library.dialer,
		Topic:     c.topic,
		Partition: c.assigned.ID,
		MaxWait:   500 * time.Millisecond, // its default of 10 s would delay the end of a read
	})
	defer reader.Close()
	if err := reader.SetOffset(c.assigned.Offset); err != nil {
		return err
	}
	for over.Err() == nil {
		if err := c.step(over, reader); err != nil {
			return err
		}
	}
	return nil
}

// Step processes the records of a short interval and commits.
func (c kafkaGoClaim) step(over context.Context, reader *kafka.Reader) error {
	waiting, cancel := context.WithTimeout(over, 20*time.Millisecond)
	defer cancel()
	end := int64(-1)
	for count := 0; count < recordsMax; count++ {
		message, err := reader.FetchMessage(waiting)
		if err != nil && waiting.Err() != nil {
			break
		}
		if err != nil {
			return err
		}
		one := c.library.record(message)
		say(answer{Is: "record", Record: &one})
		end = message.Offset + 1
	}
	if end < 0 {
		return nil
	}
	offsets := map[int]int64{c.assigned.ID: end}
	if err := c.generation.CommitOffsets(map[string]map[int]int64{c.topic: offsets}); err != nil {
		return fmt.Errorf("committing %v: %w", offsets, err)
	}
	committed(map[int32]int64{int32(c.assigned.ID): end})
	return nil
}
