import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * A member of a group, in either protocol. The records of a poll are processed and committed before the next one. The
 * listener does nothing, but with one the client revokes partitions only inside a poll.
 */
final class Member implements ConsumerRebalanceListener, AutoCloseable {
    private static final int RECORDS_MAX = 50;
    private static final Duration WAIT = Duration.ofMillis(100);

    private final KafkaConsumer<byte[], byte[]> consumer;

    Member(Map<String, Object> settings, JsonNode request) {
        Map<String, Object> all = new HashMap<>(settings);
        all.put("group.id", request.get("group").asText());
        all.put("group.protocol", request.get("protocol").asText());
        all.put("auto.offset.reset", "earliest");
        all.put("enable.auto.commit", false);
        all.put("max.poll.records", RECORDS_MAX);
        if (request.get("protocol").asText().equals("classic")) { // the other refuses these
            all.put("session.timeout.ms", request.get("session_ms").asInt());
            all.put("heartbeat.interval.ms", request.get("heartbeat_ms").asInt());
        }
        consumer = new KafkaConsumer<>(all, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        consumer.subscribe(List.of(request.get("topic").asText()), this);
    }

    void step() throws IOException {
        Map<TopicPartition, OffsetAndMetadata> ends = new HashMap<>();
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(WAIT)) {
            Program.say("record", Program.JSON.createObjectNode().set("record", Program.asJson(record)));
            ends.put(new TopicPartition(record.topic(), record.partition()), new OffsetAndMetadata(record.offset() + 1));
        }
        if (!ends.isEmpty()) {
            consumer.commitSync(ends);
            Program.say("committed", committed(ends));
        }
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
    }

    /** Leaves the group. */
    @Override
    public void close() {
        consumer.close();
    }

    private static ObjectNode committed(Map<TopicPartition, OffsetAndMetadata> ends) {
        ObjectNode answer = Program.JSON.createObjectNode();
        ArrayNode offsets = answer.putArray("offsets");
        ends.forEach((partition, end) -> offsets.addArray().add(partition.partition()).add(end.offset()));
        return answer;
    }
}
