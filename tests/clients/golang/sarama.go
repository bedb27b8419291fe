package main

import (
	"errors"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

type saramaLibrary struct {
	bootstrap string
	security  *security
}

func (s saramaLibrary) codeOf(err error) *int {
	var said sarama.KError
	if !errors.As(err, &said) {
		return nil
	}
	code := int(said)
	return &code
}

func (s saramaLibrary) createTopic(topic string, partitions int32, configs map[string]string) error {
	admin, err := sarama.NewClusterAdmin([]string{s.bootstrap}, s.config())
	if err != nil {
		return err
	}
	defer admin.Close()
	detail := sarama.TopicDetail{NumPartitions: partitions, ReplicationFactor: 1, ConfigEntries: map[string]*string{}}
	for name, value := range configs {
		detail.ConfigEntries[name] = &value
	}
	err = admin.CreateTopic(topic, &detail, false)
	var refused *sarama.TopicError
	if errors.As(err, &refused) {
		return refused.Err
	}
	return err
}

func (s saramaLibrary) describeTopic(topic string) ([][2]int64, error) {
	client, err := sarama.NewClient([]string{s.bootstrap}, s.config())
	if err != nil {
		return nil, err
	}
	defer client.Close()
	partitions, err := client.Partitions(topic)
	if err != nil {
		return nil, err
	}
	bounds := make([][2]int64, len(partitions))
	for _, number := range partitions {
		first, err := client.GetOffset(topic, number, sarama.OffsetOldest)
		if err != nil {
			return nil, err
		}
		end, err := client.GetOffset(topic, number, sarama.OffsetNewest)
		if err != nil {
			return nil, err
		}
		bounds[number] = [2]int64{first, end}
	}
	return bounds, nil
}

func (s saramaLibrary) produce(asked request) ([][2]int64, error) {
	producer, err := sarama.NewSyncProducer([]string{s.bootstrap}, s.producerConfig(asked))
	if err != nil {
		return nil, err
	}
	defer producer.Close()
	sent := make([]*sarama.ProducerMessage, len(asked.Records))
	for number, one := range asked.Records {
		sent[number] = s.message(asked.Topic, one)
	}
	if err := producer.SendMessages(sent); err != nil {
		var failures sarama.ProducerErrors
		if errors.As(err, &failures) && len(failures) > 0 {
			return nil, failures[0].Err
		}
		return nil, err
	}
	placed := make([][2]int64, len(sent))
	for number, one := range sent {
		placed[number] = [2]int64{int64(one.Partition), one.Offset}
	}
	return placed, nil
}

func (s saramaLibrary) producerConfig(asked request) *sarama.Config {
	config := s.config()
	config.Producer.Return.Successes = true
	config.Producer.Partitioner = sarama.NewManualPartitioner
	if asked.Codec != nil {
		config.Producer.Compression = map[string]sarama.CompressionCodec{
			"none":   sarama.CompressionNone,
			"gzip":   sarama.CompressionGZIP,
			"snappy": sarama.CompressionSnappy,
			"lz4":    sarama.CompressionLZ4,
			"zstd":   sarama.CompressionZSTD,
		}[*asked.Codec]
	}
	if asked.Idempotent != nil && *asked.Idempotent {
		config.Producer.Idempotent = true
		config.Producer.RequiredAcks = sarama.WaitForAll // it insists on these two
		config.Net.MaxOpenRequests = 1
	}
	if asked.BytesMax != nil {
		config.Producer.MaxMessageBytes = *asked.BytesMax
	}
	return config
}

func (s saramaLibrary) message(topic string, one record) *sarama.ProducerMessage {
	message := &sarama.ProducerMessage{Topic: topic, Partition: one.Partition}
	if one.Key != nil {
		message.Key = sarama.ByteEncoder(one.Key)
	}
	if one.Value != nil {
		message.Value = sarama.ByteEncoder(one.Value)
	}
	if one.Timestamp != nil {
		message.Timestamp = time.UnixMilli(*one.Timestamp)
	}
	for _, h := range one.Headers {
		message.Headers = append(message.Headers, sarama.RecordHeader{Key: []byte(h.name), Value: h.value})
	}
	return message
}

func (s saramaLibrary) consume(asked request, partitions []int32, answers *answers) error {
	config := s.config()
	config.Consumer.Return.Errors = true
	client, err := sarama.NewClient([]string{s.bootstrap}, config)
	if err != nil {
		return err
	}
	defer client.Close()
	consumer, err := sarama.NewConsumerFromClient(client)
	if err != nil {
		return err
	}
	defer consumer.Close()
	reading := saramaReading{make(chan *sarama.ConsumerMessage), make(chan error, len(partitions)), make(chan struct{})}
	var running sync.WaitGroup
	defer running.Wait()
	defer close(reading.over)
	for _, number := range partitions {
		offset, err := s.start(client, asked, number)
		if err != nil {
			return err
		}
		partition, err := consumer.ConsumePartition(asked.Topic, number, offset)
		if err != nil {
			return err
		}
		running.Go(func() { reading.forward(partition) })
	}
	if asked.Start == "latest" { // ConsumePartition has asked for the end
		answers.ready()
	}
	return reading.giveOut(s, answers)
}

// A saramaReading merges the partitions, which sarama reads separately.
type saramaReading struct {
	messages chan *sarama.ConsumerMessage
	failures chan error
	over     chan struct{}
}

// Forward passes on the records of one partition until it is closed.
func (r saramaReading) forward(from sarama.PartitionConsumer) {
	defer from.Close()
	for {
		select {
		case message := <-from.Messages():
			select {
			case r.messages <- message:
			case <-r.over:
				return
			}
		case err := <-from.Errors():
			r.failures <- err.Err
			return
		case <-r.over:
			return
		}
	}
}

func (r saramaReading) giveOut(s saramaLibrary, answers *answers) error {
	late := time.After(time.Until(answers.deadline))
	for !answers.complete() {
		select {
		case message := <-r.messages:
			answers.record(s.record(message))
		case err := <-r.failures:
			return err
		case <-late:
			return answers.outOfTime()
		}
	}
	return nil
}

func (s saramaLibrary) start(client sarama.Client, asked request, number int32) (int64, error) {
	switch asked.Start {
	case "earliest":
		return sarama.OffsetOldest, nil
	case "latest":
		return sarama.OffsetNewest, nil
	case "timestamp":
		return client.GetOffset(asked.Topic, number, asked.Value)
	}
	return asked.Value, nil
}

func (s saramaLibrary) record(read *sarama.ConsumerMessage) record {
	timestamp := read.Timestamp.UnixMilli()
	one := record{
		Partition: read.Partition, Offset: read.Offset, Timestamp: &timestamp,
		Key: read.Key, Value: read.Value, Headers: []header{},
	}
	for _, h := range read.Headers {
		one.Headers = append(one.Headers, header{string(h.Key), h.Value})
	}
	return one
}
