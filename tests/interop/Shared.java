import java.nio.charset.StandardCharsets;
import java.util.StringJoiner;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicLong;
import org.apache.curator.framework.recipes.barriers.DistributedBarrier;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;
import org.apache.curator.framework.recipes.nodes.GroupMember;
import org.apache.curator.framework.recipes.nodes.PersistentNode;
import org.apache.curator.framework.recipes.shared.SharedCount;
import org.apache.curator.framework.recipes.shared.VersionedValue;
import org.apache.curator.retry.RetryNTimes;
import org.apache.zookeeper.CreateMode;

/** Curator's barriers, counters and groups: see peers.sh for the commands. */
final class Shared {
    private static final int TRIES = 1000;

    private final CuratorFramework client;
    private DistributedDoubleBarrier inside;
    private GroupMember member;
    private PersistentNode node;

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
        case "gjoin":
            member = new GroupMember(client, words[1], words[2], bytes(words[3]));
            member.start();
            return "ok";
        case "glist":
            return "ok " + members();
        case "gleave":
            member.close();
            return "ok";
        case "pnode":
            node = new PersistentNode(client, CreateMode.EPHEMERAL, false,
                                      words[1] + "/" + words[2], bytes(words[3]));
            node.start();
            return word(node.waitForInitialCreate(Long.MAX_VALUE, TimeUnit.DAYS));
        case "pdrop":
            node.close();
            return "ok";
        case "add":
            return "ok " + add(words[1], words[2].equals("8"), Double.parseDouble(words[3]));
        default:
            return null;
        }
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private String members() {
        StringJoiner all = new StringJoiner(",");
        new TreeMap<>(member.getCurrentMembers())
            .forEach((id, data) -> all.add(id + "=" + new String(data, StandardCharsets.UTF_8)));
        return all.toString();
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
            while (added == 0 || System.nanoTime() < end) {
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
