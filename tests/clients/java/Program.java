import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Client program for Apache Kafka's Java client; its protocol is described in tests/clients/protocol.py.
 * Settings that a request does not name keep the client's defaults.
 */
public final class Program {
    static final ObjectMapper JSON = new ObjectMapper();
    private static final PrintStream ANSWERS = System.out;

    private final Properties common;
    private final Requests requests = new Requests();

    private Program(String[] arguments) throws IOException {
        common = arguments.length > 1 ? Security.read(Path.of(arguments[1])) : new Properties();
        common.setProperty("bootstrap.servers", arguments[0]);
    }

    public static void main(String[] arguments) throws IOException, InterruptedException {
        Program program = new Program(arguments);
        for (String line = program.requests.next(); !line.isEmpty(); line = program.requests.next()) {
            JsonNode request = JSON.readTree(line);
            if (!request.get("do").asText().equals("leave")) { // it has ended what went before it
                program.answer(request);
            }
        }
    }

    private void answer(JsonNode request) throws IOException, InterruptedException {
        try {
            say("done", act(request));
        } catch (ExecutionException failed) {
            fail(failed.getCause());
        } catch (KafkaException | OutOfTime failed) {
            fail(failed);
        }
    }

    private ObjectNode act(JsonNode request) throws IOException, InterruptedException, ExecutionException, OutOfTime {
        String name = request.get("do").asText();
        switch (name) {
            case "create_topic":
                return createTopic(request);
            case "describe_topic":
                return describeTopic(request);
            case "produce":
                return produce(request);
            case "consume":
                return consume(request);
            case "join":
                return join(request);
            case "load":
                return Load.run(settings(), request.get("topic").asText(), requests);
            default:
                throw new IllegalArgumentException(name);
        }
    }

    private ObjectNode createTopic(JsonNode request) throws InterruptedException, ExecutionException {
        Map<String, String> configs = new HashMap<>();
        request.get("configs").properties().forEach(field -> configs.put(field.getKey(), field.getValue().asText()));
        NewTopic topic = new NewTopic(request.get("topic").asText(), request.get("partitions").asInt(), (short) 1);
        try (Admin admin = Admin.create(settings())) {
            admin.createTopics(List.of(topic.configs(configs))).all().get();
        }
        return JSON.createObjectNode();
    }

    private ObjectNode describeTopic(JsonNode request) throws InterruptedException, ExecutionException {
        String name = request.get("topic").asText();
        ObjectNode answer = JSON.createObjectNode();
        ArrayNode bounds = answer.putArray("bounds");
        try (Admin admin = Admin.create(settings()); KafkaConsumer<byte[], byte[]> consumer = consumer()) {
            int count = admin.describeTopics(List.of(name)).allTopicNames().get().get(name).partitions().size();
            for (int number = 0; number < count; number++) {
                TopicPartition partition = new TopicPartition(name, number);
                long first = consumer.beginningOffsets(List.of(partition)).get(partition);
                long end = consumer.endOffsets(List.of(partition)).get(partition);
                bounds.addArray().add(first).add(end);
            }
        }
        return answer;
    }

    private ObjectNode produce(JsonNode request) throws IOException, InterruptedException, ExecutionException {
        ObjectNode answer = JSON.createObjectNode();
        ArrayNode placed = answer.putArray("placed");
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        boolean transactional = !request.get("transactional_id").isNull();
        try (KafkaProducer<byte[], byte[]> producer = producer(request)) {
            if (transactional) {
                producer.initTransactions();
                producer.beginTransaction();
            }
            for (JsonNode record : request.get("records")) {
                sent.add(producer.send(toSend(request.get("topic").asText(), record)));
            }
            for (Future<RecordMetadata> one : sent) {
                placed.addArray().add(one.get().partition()).add(one.get().offset());
            }
            if (transactional) {
                producer.commitTransaction();
            }
        }
        return answer;
    }

    private ObjectNode consume(JsonNode request) throws IOException, OutOfTime {
        List<TopicPartition> partitions = new ArrayList<>();
        for (JsonNode number : request.get("partitions")) {
            partitions.add(new TopicPartition(request.get("topic").asText(), number.asInt()));
        }
        try (KafkaConsumer<byte[], byte[]> consumer = consumer()) {
            consumer.assign(partitions);
            seek(consumer, partitions, request.get("start").asText(), request.get("value").asLong());
            read(consumer, request.get("count").asInt(), request.get("timeout_ms").asLong());
        }
        return JSON.createObjectNode();
    }

    private ObjectNode join(JsonNode request) throws IOException {
        try (Member member = new Member(settings(), request)) {
            while (!requests.waiting()) {
                member.step();
            }
        }
        return JSON.createObjectNode();
    }

    private void seek(KafkaConsumer<byte[], byte[]> consumer, List<TopicPartition> partitions, String start, long value)
            throws IOException {
        if (start.equals("earliest")) {
            consumer.seekToBeginning(partitions);
        } else if (start.equals("latest")) {
            consumer.seekToEnd(partitions);
            partitions.forEach(consumer::position);
            say("ready", JSON.createObjectNode());
        } else if (start.equals("offset")) {
            partitions.forEach(partition -> consumer.seek(partition, value));
        } else {
            Map<TopicPartition, Long> times = new HashMap<>();
            partitions.forEach(partition -> times.put(partition, value));
            for (Map.Entry<TopicPartition, OffsetAndTimestamp> found : consumer.offsetsForTimes(times).entrySet()) {
                consumer.seek(found.getKey(), found.getValue().offset());
            }
        }
    }

    private void read(KafkaConsumer<byte[], byte[]> consumer, int wanted, long timeoutMs) throws IOException, OutOfTime {
        long deadline = System.nanoTime() + timeoutMs * 1_000_000;
        int count = 0;
        while (count < wanted) {
            if (System.nanoTime() > deadline) {
                throw new OutOfTime(count + " of " + wanted + " records came");
            }
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                if (count++ < wanted) {
                    say("record", JSON.createObjectNode().set("record", asJson(record)));
                }
            }
        }
    }

    private KafkaProducer<byte[], byte[]> producer(JsonNode request) {
        Map<String, Object> settings = settings();
        copy(request, "codec", settings, "compression.type");
        copy(request, "idempotent", settings, "enable.idempotence");
        copy(request, "bytes_max", settings, "max.request.size");
        copy(request, "transactional_id", settings, "transactional.id");
        return new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
    }

    private KafkaConsumer<byte[], byte[]> consumer() {
        return new KafkaConsumer<>(settings(), new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private Map<String, Object> settings() {
        Map<String, Object> settings = new HashMap<>();
        common.forEach((name, value) -> settings.put((String) name, value));
        return settings;
    }

    private static void copy(JsonNode request, String field, Map<String, Object> settings, String name) {
        if (!request.get(field).isNull()) {
            settings.put(name, request.get(field).asText());
        }
    }

    private static ProducerRecord<byte[], byte[]> toSend(String topic, JsonNode record) throws IOException {
        List<Header> headers = new ArrayList<>();
        for (JsonNode header : record.get("headers")) {
            headers.add(new RecordHeader(header.get(0).asText(), bytes(header.get(1))));
        }
        JsonNode time = record.get("timestamp");
        return new ProducerRecord<>(topic, record.get("partition").asInt(), time.isNull() ? null : time.asLong(),
                bytes(record.get("key")), bytes(record.get("value")), headers);
    }

    static ObjectNode asJson(ConsumerRecord<byte[], byte[]> record) {
        ObjectNode json = JSON.createObjectNode();
        json.put("partition", record.partition()).put("offset", record.offset()).put("timestamp", record.timestamp());
        json.put("key", record.key()).put("value", record.value());
        ArrayNode headers = json.putArray("headers");
        record.headers().forEach(header -> headers.addArray().add(header.key()).add(header.value()));
        return json;
    }

    private static byte[] bytes(JsonNode base64) throws IOException {
        return base64.isNull() ? null : base64.binaryValue();
    }

    private static void fail(Throwable failed) throws IOException {
        ObjectNode answer = JSON.createObjectNode().put("message", failed.toString());
        boolean saidByBroker = failed instanceof ApiException && Errors.forException(failed) != Errors.UNKNOWN_SERVER_ERROR;
        say("failed", saidByBroker ? answer.put("code", Errors.forException(failed).code()) : answer);
    }

    static void say(String kind, JsonNode answer) throws IOException {
        ANSWERS.println(JSON.writeValueAsString(((ObjectNode) answer).put("is", kind)));
        ANSWERS.flush();
    }

    /** The requested records did not arrive in time. */
    private static final class OutOfTime extends Exception {
        private static final long serialVersionUID = 1;

        OutOfTime(String message) {
            super(message);
        }
    }
}
