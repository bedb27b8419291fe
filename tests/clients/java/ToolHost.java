import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs Kafka's tools one after the other in this JVM, which saves a start for each of them. A line of input is
 * {"main": class, "arguments": [...]}, a line of output {"code", "stdout", "stderr"}.
 */
public final class ToolHost {
    private static final ObjectMapper JSON = new ObjectMapper();

    private ToolHost() {
    }

    public static void main(String[] none) throws IOException, ReflectiveOperationException {
        Exit.setExitProcedure((code, message) -> {
            throw new Ended(code);
        });
        PrintStream answers = System.out;
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            answers.println(run(JSON.readTree(line)));
            answers.flush();
        }
    }

    private static String run(JsonNode request) throws IOException, ReflectiveOperationException {
        ByteArrayOutputStream stdout = new ByteArrayOutputStream();
        ByteArrayOutputStream stderr = new ByteArrayOutputStream();
        System.setOut(new PrintStream(stdout, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(stderr, true, StandardCharsets.UTF_8));
        int code = call(request.get("main").asText(), request.get("arguments"));
        return JSON.writeValueAsString(JSON.createObjectNode()
                .put("code", code)
                .put("stdout", stdout.toString(StandardCharsets.UTF_8))
                .put("stderr", stderr.toString(StandardCharsets.UTF_8)));
    }

    private static int call(String main, JsonNode given) throws ReflectiveOperationException {
        Ended.first = null;
        List<String> arguments = new ArrayList<>();
        given.forEach(argument -> arguments.add(argument.asText()));
        try {
            Class.forName(main).getMethod("main", String[].class).invoke(null, (Object) arguments.toArray(new String[0]));
            return 0;
        } catch (InvocationTargetException thrown) {
            if (thrown.getCause() instanceof Ended) {
                return Ended.first;
            }
            thrown.getCause().printStackTrace();
            return 1;
        }
    }

    /** The tool called System.exit. Some catch everything, print it and exit again: only the first exit counts. */
    private static final class Ended extends RuntimeException {
        private static final long serialVersionUID = 1;

        private static Integer first;

        Ended(int code) {
            super("", null, false, false);
            first = first == null ? code : first;
        }

        @Override
        public void printStackTrace(PrintStream unused) {
        }

        @Override
        public void printStackTrace(PrintWriter unused) {
        }
    }
}
