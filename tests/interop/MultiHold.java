import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.LockPath;

/** Curator's lock of several, at PATH and PATH-and, in that order or the other way round. */
final class MultiHold extends Hold {
    private final InterProcessMutex first;
    private final InterProcessMultiLock lock;

    MultiHold(CuratorFramework client, String path, boolean reversed) {
        first = new InterProcessMutex(client, path);
        List<InterProcessLock> locks = Arrays.asList(first,
                new InterProcessMutex(client, path + "-and"));
        if (reversed) {
            Collections.reverse(locks);
        }
        lock = new InterProcessMultiLock(locks);
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
        return LockPath.of(first);
    }

    @Override
    void release() throws Exception {
        lock.release();
    }

    @Override
    Collection<String> list() throws Exception {
        return first.getParticipantNodes();
    }
}
