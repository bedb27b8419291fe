import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Writes to partition 0 of a topic until the next request. */
final class Load {
    private static final byte[] VALUE = {'l', 'o', 'a', 'd'};

    private Load() {
    }

    static ObjectNode run(Map<String, Object> settings, String topic, Requests requests)
            throws InterruptedException, ExecutionException {
        ObjectNode answer = Program.JSON.createObjectNode();
        ArrayNode placed = answer.putArray("placed");
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            while (!requests.waiting()) {
                sent.add(producer.send(new ProducerRecord<>(topic, 0, null, VALUE)));
                TimeUnit.MILLISECONDS.sleep(1);
            }
            for (Future<RecordMetadata> one : sent) {
                placed.addArray().add(one.get().partition()).add(one.get().offset());
            }
        }
        return answer;
    }
}
