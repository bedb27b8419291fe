package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

// A session ends when the group rebalances; consuming again begins the next one.
func (s saramaLibrary) join(ctx context.Context, asked request) error {
	group, err := sarama.NewConsumerGroup([]string{s.bootstrap}, asked.Group, s.memberConfig(asked))
	if err != nil {
		return err
	}
	ctx, fail := context.WithCancelCause(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		for err := range group.Errors() { // commits, too, fail only there
			fail(err)
		}
	})
	for ctx.Err() == nil {
		if err := group.Consume(ctx, []string{asked.Topic}, saramaMember{s}); err != nil {
			fail(err)
		}
	}
	closed := group.Close()
	running.Wait()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return closed
}

func (s saramaLibrary) memberConfig(asked request) *sarama.Config {
	config := s.config()
	config.Consumer.Return.Errors = true
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Group.Session.Timeout = asked.session()
	config.Consumer.Group.Heartbeat.Interval = asked.heartbeat()
	return config
}

// A saramaMember processes its partitions concurrently.
type saramaMember struct{ library saramaLibrary }

func (m saramaMember) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (m saramaMember) Cleanup(sarama.ConsumerGroupSession) error { return nil }

// Processed records are committed when no record arrives for a moment, periodically, and when the claim ends.
func (m saramaMember) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	pending := &saramaPending{library: m.library, session: session}
	defer pending.commit()
	for {
		select {
		case message, open := <-claim.Messages():
			if !open {
				return nil
			}
			pending.process(message)
		case <-time.After(20 * time.Millisecond):
			pending.commit()
		case <-session.Context().Done():
			return nil
		}
	}
}

// A saramaPending is the progress of one partition since its last commit.
type saramaPending struct {
	library saramaLibrary
	session sarama.ConsumerGroupSession
	last    *sarama.ConsumerMessage
	count   int
}

func (p *saramaPending) process(message *sarama.ConsumerMessage) {
	one := p.library.record(message)
	say(answer{Is: "record", Record: &one})
	p.session.MarkMessage(message, "")
	p.last = message
	if p.count++; p.count >= recordsMax {
		p.commit()
	}
}

func (p *saramaPending) commit() {
	if p.count == 0 {
		return
	}
	p.session.Commit()
	committed(map[int32]int64{p.last.Partition: p.last.Offset + 1})
	p.count = 0
}
