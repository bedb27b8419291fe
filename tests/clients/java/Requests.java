import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * Lines of the input; an empty one is its end. A thread reads them, so that a group member sees `leave` while it
 * consumes.
 */
final class Requests {
    private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();

    Requests() {
        Thread reader = new Thread(this::read, "requests");
        reader.setDaemon(true);
        reader.start();
    }

    String next() throws InterruptedException {
        return lines.take();
    }

    /** Whether another line or the end of the input has arrived. */
    boolean waiting() {
        return !lines.isEmpty();
    }

    private void read() {
        try (BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = input.readLine(); line != null; line = input.readLine()) {
                lines.add(line);
            }
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        } finally {
            lines.add("");
        }
    }
}
