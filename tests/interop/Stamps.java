import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;

/** A file to which all leaders append, each line by one write: its order is that of the terms. */
final class Stamps {
    private final Path file;
    private final String id;

    Stamps(String file, String id) {
        this.file = Paths.get(file);
        this.id = id;
    }

    void start() {
        add("start");
    }

    void end() {
        add("end");
    }

    private void add(String word) {
        try {
            Files.write(file, (word + " " + id + "\n").getBytes(StandardCharsets.UTF_8),
                StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
