import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.LockPath;

/** Curator's mutex, revocable or not, and either side of its read-write lock. */
final class CuratorHold extends Hold {
    private final InterProcessMutex lock;
    private final AtomicInteger asked = new AtomicInteger();

    CuratorHold(CuratorFramework client, String path, String kind) {
        switch (kind) {
        case "curator-revocable":
            lock = new InterProcessMutex(client, path);
            lock.makeRevocable(held -> asked.incrementAndGet());
            break;
        case "curator":
            lock = new InterProcessMutex(client, path);
            break;
        case "curator-read":
            lock = new InterProcessReadWriteLock(client, path).readLock();
            break;
        case "curator-write":
            lock = new InterProcessReadWriteLock(client, path).writeLock();
            break;
        default:
            throw new IllegalArgumentException("no kind " + kind);
        }
    }

    @Override
    boolean acquire(boolean wait) throws Exception {
        if (wait) {
            lock.acquire();
            return true;
        }
        return lock.acquire(0, TimeUnit.MILLISECONDS);
    }

    @Override
    String node() {
        return LockPath.of(lock);
    }

    @Override
    int asked() {
        return asked.get();
    }

    @Override
    void release() throws Exception {
        lock.release();
    }

    @Override
    Collection<String> list() throws Exception {
        List<String> names = new ArrayList<>();

        for (String node : lock.getParticipantNodes()) {
            names.add(node.substring(node.lastIndexOf('/') + 1));
        }
        return names;
    }
}
