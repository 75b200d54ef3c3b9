import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;

/** A thread that takes the lock, increments under it and gives it back, again and again. */
final class Contend extends Thread {
    /** Of the watchdog around the test: tests/support/progress.h. */
    private static final String PROGRESS = System.getenv().getOrDefault("ZKL_PROGRESS", "");
    private static final int AFTER_ERROR_MS = 20;
    private static final int LONGER = 50; // with permits, so that several are had at once

    private final CuratorFramework client;
    private final String path;
    private final String kind;
    private final Counter counter;
    private final long end;
    private final int least;
    private volatile boolean told;
    private int grants;
    private int errors;

    /** PATH KIND COUNTER HISTORY SECONDS GRANTS FENCED. */
    Contend(CuratorFramework client, String[] args) throws Exception {
        this.client = client;
        path = args[0];
        kind = args[1];
        counter = new Counter(args[2], args[3], kind, args[6].equals("1"));
        end = System.nanoTime() + TimeUnit.SECONDS.toNanos(Long.parseLong(args[4]));
        least = Integer.parseInt(args[5]);
        setDaemon(true);
    }

    @Override
    public void run() {
        while (!told && goesOn(System.nanoTime())) {
            try {
                turn();
                if (goesOn(System.nanoTime()) && least > 0) {
                    step();
                }
                grants++;
            } catch (Exception e) {
                errors++;
                System.err.println(kind + ": " + e);
                pause(AFTER_ERROR_MS);
            }
        }
    }

    private static void pause(int ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private boolean goesOn(long now) {
        return now < end || (grants < least && !Files.exists(Path.of(PROGRESS + ".late")));
    }

    private static void step() throws IOException {
        if (!PROGRESS.isEmpty() && Files.exists(Path.of(PROGRESS))) {
            Files.write(Path.of(PROGRESS), new byte[] {'.'}, StandardOpenOption.APPEND);
        }
    }

    private void turn() throws Exception {
        Hold hold = Hold.make(client, path, kind);

        hold.acquire(true);
        try {
            use(client.checkExists().forPath(hold.node()).getCzxid());
        } finally {
            hold.release();
        }
    }

    /** A reader looks twice, and must see the same. */
    private void use(long token) throws Exception {
        long begin = System.nanoTime();
        long number = counter.read(token);

        counter.record(begin, "begin", token, number);
        boolean permits = kind.startsWith(PermitHold.KIND);
        boolean reads = kind.endsWith("-read") || permits;
        if (reads || ThreadLocalRandom.current().nextInt(4) == 0) {
            pause((permits ? LONGER : 1) * (1 + ThreadLocalRandom.current().nextInt(4)));
        }
        if (reads) {
            number = counter.read(token);
        } else {
            counter.write(token, ++number);
        }
        counter.record(System.nanoTime(), reads ? "read" : "write", token, number);
    }

    /** Its end, asked for or by itself. */
    String result(boolean now) throws Exception {
        told |= now;
        join();
        counter.close();
        return "ok " + grants + " " + errors;
    }
}
