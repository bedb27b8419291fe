package main

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
)

type kafkaGo struct {
	bootstrap string
	client    *kafka.Client
	transport *kafka.Transport
	dialer    *kafka.Dialer
}

func (k kafkaGo) codeOf(err error) *int {
	var said kafka.Error
	if !errors.As(err, &said) {
		return nil
	}
	code := int(said)
	return &code
}

func (k kafkaGo) createTopic(topic string, partitions int32, configs map[string]string) error {
	config := kafka.TopicConfig{Topic: topic, NumPartitions: int(partitions), ReplicationFactor: 1}
	for name, value := range configs {
		config.ConfigEntries = append(config.ConfigEntries, kafka.ConfigEntry{ConfigName: name, ConfigValue: value})
	}
	answer, err := k.client.CreateTopics(context.Background(), &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{config}})
	if err != nil {
		return err
	}
	return answer.Errors[topic]
}

func (k kafkaGo) describeTopic(topic string) ([][2]int64, error) {
	ctx := context.Background()
	metadata, err := k.client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{topic}})
	if err != nil {
		return nil, err
	}
	if err := metadata.Topics[0].Error; err != nil {
		return nil, err
	}
	bounds := make([][2]int64, len(metadata.Topics[0].Partitions))
	var asked []kafka.OffsetRequest
	for number := range bounds {
		asked = append(asked, kafka.FirstOffsetOf(number), kafka.LastOffsetOf(number))
	}
	found, err := k.client.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{topic: asked}})
	if err != nil {
		return nil, err
	}
	for _, one := range found.Topics[topic] {
		if one.Error != nil {
			return nil, one.Error
		}
		bounds[one.Partition] = [2]int64{one.FirstOffset, one.LastOffset}
	}
	return bounds, nil
}

// The number of a record in the request travels with the message, since answers come batch by batch.
func (k kafkaGo) produce(asked request) ([][2]int64, error) {
	if asked.Idempotent != nil && *asked.Idempotent {
		return nil, errors.New("kafka-go has no idempotent writer")
	}
	placed := make([][2]int64, len(asked.Records))
	var lock sync.Mutex
	writer := k.writer(asked, func(messages []kafka.Message, err error) {
		lock.Lock()
		defer lock.Unlock()
		for _, message := range messages {
			placed[message.WriterData.(int)] = [2]int64{int64(message.Partition), message.Offset}
		}
	})
	messages := make([]kafka.Message, len(asked.Records))
	for number, one := range asked.Records {
		messages[number] = k.message(number, one)
	}
	err := writer.WriteMessages(context.Background(), messages...)
	var failures kafka.WriteErrors
	if errors.As(err, &failures) {
		err = errors.Join(failures...)
	}
	return placed, errors.Join(err, writer.Close())
}

func (k kafkaGo) writer(asked request, completion func([]kafka.Message, error)) *kafka.Writer {
	writer := &kafka.Writer{
		Addr:         kafka.TCP(k.bootstrap),
		Transport:    k.transport,
		Topic:        asked.Topic,
		RequiredAcks: kafka.RequireAll,      // its default is to wait for no answer
		BatchTimeout: 10 * time.Millisecond, // its default is to wait a second for a batch to fill
		Balancer: kafka.BalancerFunc(func(message kafka.Message, _ ...int) int {
			return int(asked.Records[message.WriterData.(int)].Partition)
		}),
		Completion: completion,
	}
	if asked.Codec != nil {
		writer.Compression = map[string]kafka.Compression{
			"gzip": kafka.Gzip, "snappy": kafka.Snappy, "lz4": kafka.Lz4, "zstd": kafka.Zstd,
		}[*asked.Codec]
	}
	if asked.BytesMax != nil {
		writer.BatchBytes = int64(*asked.BytesMax)
	}
	return writer
}

func (k kafkaGo) message(number int, one record) kafka.Message {
	message := kafka.Message{Key: one.Key, Value: one.Value, WriterData: number}
	if one.Timestamp != nil {
		message.Time = time.UnixMilli(*one.Timestamp)
	}
	for _, h := range one.Headers {
		message.Headers = append(message.Headers, kafka.Header{Key: h.name, Value: h.value})
	}
	return message
}

func (k kafkaGo) consume(asked request, partitions []int32, answers *answers) error {
	ctx, cancel := context.WithDeadline(context.Background(), answers.deadline)
	messages, failures := make(chan kafka.Message), make(chan error, len(partitions))
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	for _, number := range partitions {
		reader := k.reader(asked, number, answers)
		if err := k.seek(ctx, reader, asked); err != nil {
			return errors.Join(err, reader.Close())
		}
		running.Add(1)
		go func() {
			defer running.Done()
			defer reader.Close()
			pump(ctx, reader, messages, failures)
		}()
	}
	for !answers.complete() {
		select {
		case message := <-messages:
			answers.record(k.record(message))
		case err := <-failures:
			if ctx.Err() != nil {
				return answers.outOfTime()
			}
			return err
		}
	}
	return nil
}

func pump(ctx context.Context, reader *kafka.Reader, messages chan<- kafka.Message, failures chan<- error) {
	for {
		message, err := reader.ReadMessage(ctx)
		if err != nil {
			failures <- err
			return
		}
		select {
		case messages <- message:
		case <-ctx.Done():
			failures <- ctx.Err()
			return
		}
	}
}

// The reader reports the end only to its log.
func (k kafkaGo) reader(asked request, partition int32, answers *answers) *kafka.Reader {
	config := kafka.ReaderConfig{
		Brokers:   []string{k.bootstrap},
		Dialer:    k.dialer,
		Topic:     asked.Topic,
		Partition: int(partition),
		MaxWait:   500 * time.Millisecond, // its default of 10 s would delay the end of a read
	}
	if asked.Start == "latest" {
		var once sync.Once
		config.Logger = kafka.LoggerFunc(func(format string, _ ...any) {
			if strings.Contains(format, "is seeking to offset") {
				once.Do(answers.ready)
			}
		})
	}
	return kafka.NewReader(config)
}

func (k kafkaGo) seek(ctx context.Context, reader *kafka.Reader, asked request) error {
	switch asked.Start {
	case "earliest":
		return reader.SetOffset(kafka.FirstOffset)
	case "latest":
		return reader.SetOffset(kafka.LastOffset)
	case "timestamp":
		return reader.SetOffsetAt(ctx, time.UnixMilli(asked.Value))
	}
	return reader.SetOffset(asked.Value)
}

func (k kafkaGo) record(read kafka.Message) record {
	timestamp := read.Time.UnixMilli()
	one := record{
		Partition: int32(read.Partition), Offset: read.Offset, Timestamp: &timestamp,
		Key: read.Key, Value: read.Value, Headers: []header{},
	}
	for _, h := range read.Headers {
		one.Headers = append(one.Headers, header{h.Key, h.Value})
	}
	return one
}
