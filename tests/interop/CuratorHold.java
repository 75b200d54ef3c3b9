import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;

/** Curator's mutex, revocable or not, and either side of its read-write lock. */
final class CuratorHold extends LockHold {
    private final AtomicInteger asked = new AtomicInteger();

    CuratorHold(CuratorFramework client, String path, String kind) {
        this(mutex(client, path, kind));
        if (kind.equals("curator-revocable")) {
            mutex.makeRevocable(held -> asked.incrementAndGet());
        }
    }

    private CuratorHold(InterProcessMutex mutex) {
        super(mutex, mutex);
    }

    private static InterProcessMutex mutex(CuratorFramework client, String path, String kind) {
        switch (kind) {
        case "curator":
        case "curator-revocable":
            return new InterProcessMutex(client, path);
        case "curator-read":
            return new InterProcessReadWriteLock(client, path).readLock();
        case "curator-write":
            return new InterProcessReadWriteLock(client, path).writeLock();
        default:
            throw new IllegalArgumentException("no kind " + kind);
        }
    }

    @Override
    int asked() {
        return asked.get();
    }

    @Override
    Collection<String> list() throws Exception {
        List<String> names = new ArrayList<>();

        for (String node : mutex.getParticipantNodes()) {
            names.add(node.substring(node.lastIndexOf('/') + 1));
        }
        return names;
    }
}
