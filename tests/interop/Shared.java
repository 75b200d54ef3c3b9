import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicLong;
import org.apache.curator.framework.recipes.barriers.DistributedBarrier;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;
import org.apache.curator.framework.recipes.shared.SharedCount;
import org.apache.curator.framework.recipes.shared.VersionedValue;
import org.apache.curator.retry.RetryNTimes;

/** Curator's barriers and counters: see peers.sh for the commands. */
final class Shared {
    private static final int TRIES = 1000;

    private final CuratorFramework client;
    private DistributedDoubleBarrier inside;

    Shared(CuratorFramework client) {
        this.client = client;
    }

    private static String word(boolean good) {
        return good ? "ok" : "late";
    }

    /** Null: none of ours. */
    String obey(String[] words) throws Exception {
        switch (words[0]) {
        case "bset":
            new DistributedBarrier(client, words[1]).setBarrier();
            return "ok";
        case "bremove":
            new DistributedBarrier(client, words[1]).removeBarrier();
            return "ok";
        case "bwait":
            return word(new DistributedBarrier(client, words[1])
                            .waitOnBarrier(Long.parseLong(words[2]), TimeUnit.MILLISECONDS));
        case "denter":
            inside = new DistributedDoubleBarrier(client, words[1], Integer.parseInt(words[2]));
            return word(inside.enter(Long.parseLong(words[3]), TimeUnit.MILLISECONDS));
        case "dleave":
            return word(inside.leave(Long.parseLong(words[1]), TimeUnit.MILLISECONDS));
        case "add":
            return "ok " + add(words[1], words[2].equals("8"), Double.parseDouble(words[3]));
        default:
            return null;
        }
    }

    private long add(String path, boolean wide, double seconds) throws Exception {
        long end = System.nanoTime() + (long) (seconds * 1e9);
        long added = 0;
        DistributedAtomicLong number =
            new DistributedAtomicLong(client, path, new RetryNTimes(TRIES, 1));
        try (SharedCount count = new SharedCount(client, path, 0)) {
            if (!wide) {
                count.start();
            }
            while (System.nanoTime() < end) {
                if (wide) {
                    added += number.increment().succeeded() ? 1 : 0;
                } else {
                    VersionedValue<Integer> old = count.getVersionedValue();
                    added += count.trySetCount(old, old.getValue() + 1) ? 1 : 0;
                }
            }
        }
        return added;
    }
}
