package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

type franzGo struct{ servers []kgo.Opt }

func (f franzGo) client(options ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append(options, f.servers...)...)
}

func (f franzGo) codeOf(err error) *int {
	var said *kerr.Error
	if !errors.As(err, &said) {
		return nil
	}
	code := int(said.Code)
	return &code
}

func (f franzGo) createTopic(topic string, partitions int32, configs map[string]string) error {
	client, err := f.client()
	if err != nil {
		return err
	}
	defer client.Close()
	values := map[string]*string{}
	for name, value := range configs {
		values[name] = kadm.StringPtr(value)
	}
	_, err = kadm.NewClient(client).CreateTopic(context.Background(), partitions, 1, values, topic)
	return err
}

func (f franzGo) describeTopic(topic string) ([][2]int64, error) {
	client, err := f.client()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	admin, ctx := kadm.NewClient(client), context.Background()
	first, err := admin.ListStartOffsets(ctx, topic)
	if err != nil {
		return nil, err
	}
	end, err := admin.ListEndOffsets(ctx, topic)
	if err != nil {
		return nil, err
	}
	bounds := make([][2]int64, len(first[topic]))
	for number := range bounds {
		from, to := first[topic][int32(number)], end[topic][int32(number)]
		if err := errors.Join(from.Err, to.Err); err != nil {
			return nil, err
		}
		bounds[number] = [2]int64{from.Offset, to.Offset}
	}
	return bounds, errors.Join(first.Error(), end.Error())
}

func (f franzGo) produce(asked request) ([][2]int64, error) {
	client, err := f.client(f.producerOptions(asked)...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	if asked.TxnID != nil {
		if err := client.BeginTransaction(); err != nil {
			return nil, err
		}
	}
	sent := make([]*kgo.Record, len(asked.Records))
	for number, one := range asked.Records {
		sent[number] = &kgo.Record{Topic: asked.Topic, Partition: one.Partition, Key: one.Key, Value: one.Value}
		if one.Timestamp != nil {
			sent[number].Timestamp = time.UnixMilli(*one.Timestamp)
		}
		for _, h := range one.Headers {
			sent[number].Headers = append(sent[number].Headers, kgo.RecordHeader{Key: h.name, Value: h.value})
		}
	}
	if err := client.ProduceSync(context.Background(), sent...).FirstErr(); err != nil {
		return nil, err
	}
	if asked.TxnID != nil {
		if err := client.EndTransaction(context.Background(), kgo.TryCommit); err != nil {
			return nil, err
		}
	}
	placed := make([][2]int64, len(sent))
	for number, one := range sent {
		placed[number] = [2]int64{int64(one.Partition), one.Offset}
	}
	return placed, nil
}

func (f franzGo) producerOptions(asked request) []kgo.Opt {
	options := []kgo.Opt{kgo.RecordPartitioner(kgo.ManualPartitioner())}
	if asked.Codec != nil {
		codecs := map[string]kgo.CompressionCodec{
			"none":   kgo.NoCompression(),
			"gzip":   kgo.GzipCompression(),
			"snappy": kgo.SnappyCompression(),
			"lz4":    kgo.Lz4Compression(),
			"zstd":   kgo.ZstdCompression(),
		}
		options = append(options, kgo.ProducerBatchCompression(codecs[*asked.Codec]))
	}
	if asked.Idempotent != nil && !*asked.Idempotent {
		options = append(options, kgo.DisableIdempotentWrite())
	}
	if asked.TxnID != nil {
		options = append(options, kgo.TransactionalID(*asked.TxnID))
	}
	if asked.BytesMax != nil {
		options = append(options, kgo.ProducerBatchMaxBytes(int32(*asked.BytesMax)))
	}
	return options
}

func (f franzGo) consume(asked request, partitions []int32, answers *answers) error {
	starts := map[int32]kgo.Offset{}
	for _, number := range partitions {
		starts[number] = f.start(asked)
	}
	options := []kgo.Opt{kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{asked.Topic: starts})}
	if asked.Start == "latest" {
		options = append(options, kgo.WithHooks(&settled{answers: answers}))
	}
	client, err := f.client(options...)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithDeadline(context.Background(), answers.deadline)
	defer cancel()
	for !answers.complete() {
		fetched := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return answers.outOfTime()
		}
		if err := fetched.Err(); err != nil {
			return err
		}
		fetched.EachRecord(func(read *kgo.Record) { answers.record(f.record(read)) })
	}
	return nil
}

func (f franzGo) start(asked request) kgo.Offset {
	switch asked.Start {
	case "earliest":
		return kgo.NewOffset().AtStart()
	case "latest":
		return kgo.NewOffset().AtEnd()
	case "timestamp":
		return kgo.NewOffset().AfterMilli(asked.Value)
	}
	return kgo.NewOffset().At(asked.Value)
}

func (f franzGo) record(read *kgo.Record) record {
	timestamp := read.Timestamp.UnixMilli()
	one := record{
		Partition: read.Partition, Offset: read.Offset, Timestamp: &timestamp,
		Key: read.Key, Value: read.Value, Headers: []header{},
	}
	for _, h := range read.Headers {
		one.Headers = append(one.Headers, header{h.Key, h.Value})
	}
	return one
}

// Settled sends ready when ListOffsets, by which the client finds the end, has been answered.
type settled struct {
	answers *answers
	once    sync.Once
}

func (s *settled) OnBrokerRead(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, err error) {
	const listOffsets = 2
	if key == listOffsets && err == nil {
		s.once.Do(s.answers.ready)
	}
}
