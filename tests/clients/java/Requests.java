import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * The lines of the input, whose end is an empty one. They are read by a thread, so that a member of a group learns
 * that it shall leave while it reads.
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

    /** Whether there is another one, or will never be. */
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
