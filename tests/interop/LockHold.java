import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.LockPath;

/** A lock of Curator's, whose node is that of a mutex: the lock itself, or one of several in it. */
abstract class LockHold extends Hold {
    final InterProcessMutex mutex;
    private final InterProcessLock lock;

    LockHold(InterProcessLock lock, InterProcessMutex mutex) {
        this.lock = lock;
        this.mutex = mutex;
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
        return LockPath.of(mutex);
    }

    @Override
    void release() throws Exception {
        lock.release();
    }
}
