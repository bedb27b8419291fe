import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;

/**
 * Calls the assignors of Apache Kafka: one request per line, one response per line, both JSON. Their types are in
 * tests/groups/assignors/kafka.py. Kafka gets everything in the order of the request; where it puts that into a hash
 * map, the order is lost.
 */
public final class Assignors {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Map<String, ConsumerGroupPartitionAssignor> BY_NAME =
        Map.of("uniform", new UniformAssignor(), "range", new RangeAssignor());

    private Assignors() {
    }

    public static void main(String[] arguments) throws IOException {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            answers.println(JSON.writeValueAsString(answer(JSON.readTree(line))));
        }
    }

    private static Map<String, Map<String, Set<Integer>>> answer(JsonNode question) {
        GroupAssignment assigned =
            BY_NAME.get(question.get("assignor").asText()).assign(group(question), topics(question.get("counts")));
        Map<String, Map<String, Set<Integer>>> answer = new TreeMap<>();
        assigned.members().forEach((member, target) -> {
            Map<String, Set<Integer>> partitions = new TreeMap<>();
            target.partitions().forEach((topic, numbers) -> partitions.put(topic.toString(), new TreeSet<>(numbers)));
            answer.put(member, partitions);
        });
        return answer;
    }

    private static GroupSpec group(JsonNode question) {
        boolean hashed = question.get("hashed").asBoolean();
        Map<String, MemberSubscriptionAndAssignmentImpl> members = hashed ? new HashMap<>() : new LinkedHashMap<>();
        Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
        for (JsonNode member : question.get("members")) {
            String id = member.get("id").asText();
            Map<Uuid, Set<Integer>> target = target(member.get("target"));
            members.put(id, member(member, target));
            target.forEach((topic, numbers) -> numbers.forEach(
                number -> owners.computeIfAbsent(topic, unseen -> new HashMap<>()).put(number, id)));
        }
        boolean identical = question.get("identical").asBoolean();
        SubscriptionType type = identical ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS;
        return new GroupSpecImpl(members, type, owners);
    }

    private static MemberSubscriptionAndAssignmentImpl member(JsonNode member, Map<Uuid, Set<Integer>> target) {
        Set<Uuid> topics = new LinkedHashSet<>();
        member.get("topics").forEach(topic -> topics.add(Uuid.fromString(topic.asText())));
        return new MemberSubscriptionAndAssignmentImpl(
            Optional.empty(), text(member.get("instance")), topics, new Assignment(target));
    }

    private static Optional<String> text(JsonNode value) {
        return value.isNull() ? Optional.empty() : Optional.of(value.asText());
    }

    private static Map<Uuid, Set<Integer>> target(JsonNode partitions) {
        Map<Uuid, Set<Integer>> target = new LinkedHashMap<>();
        partitions.properties().forEach(topic -> {
            Set<Integer> numbers = new LinkedHashSet<>();
            topic.getValue().forEach(number -> numbers.add(number.asInt()));
            target.put(Uuid.fromString(topic.getKey()), numbers);
        });
        return target;
    }

    private static SubscribedTopicDescriber topics(JsonNode counts) {
        Map<Uuid, Integer> known = new HashMap<>();
        counts.properties().forEach(topic -> known.put(Uuid.fromString(topic.getKey()), topic.getValue().asInt()));
        return new SubscribedTopicDescriber() {
            @Override
            public int numPartitions(Uuid topic) {
                return known.getOrDefault(topic, -1);
            }

            @Override
            public Set<String> racksForPartition(Uuid topic, int partition) {
                return Set.of();
            }
        };
    }
}
