import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;

/** What the lock protects: a file with a token and a number, and the history of who was at it. */
final class Counter implements AutoCloseable {
    private final FileChannel file;
    private final FileChannel history;
    private final String kind;
    private final boolean fenced;

    Counter(String file, String history, String kind, boolean fenced) throws IOException {
        this.file =
            FileChannel.open(Paths.get(file), StandardOpenOption.READ, StandardOpenOption.WRITE);
        this.history = FileChannel.open(Paths.get(history), StandardOpenOption.APPEND);
        this.kind = kind;
        this.fenced = fenced;
    }

    /** The number as it is now. */
    long read(long token) throws IOException {
        return access(token, null);
    }

    void write(long token, long number) throws IOException {
        access(token, number);
    }

    /** One access is one step; between two of them only the lock stands. */
    private long access(long token, Long number) throws IOException {
        FileLock step = file.lock();

        try {
            ByteBuffer bytes = ByteBuffer.allocate(64);
            file.read(bytes, 0);
            String[] words =
                new String(bytes.array(), StandardCharsets.US_ASCII).trim().split("\\s+");
            if (fenced && Long.parseLong(words[0]) > token) { // its turn is 0
                throw new IOException("refused: " + words[0] + " has been here, " + token + " is stale");
            }
            long next = number == null ? Long.parseLong(words[1]) : number;
            String line = String.format("%020d %020d %020d\n", token, next, 0);
            file.write(ByteBuffer.wrap(line.getBytes(StandardCharsets.US_ASCII)), 0);
            return next;
        } finally {
            step.release();
        }
    }

    /** At: of CLOCK_MONOTONIC, which is what System.nanoTime() reads on Linux. */
    void record(long at, String word, long token, long number) throws IOException {
        String line = String.format("%d 0 %d %s %d %d 0 %s\n", at, ProcessHandle.current().pid(),
            word, number, token, kind);
        history.write(ByteBuffer.wrap(line.getBytes(StandardCharsets.US_ASCII)));
    }

    @Override
    public void close() throws IOException {
        file.close();
        history.close();
    }
}
