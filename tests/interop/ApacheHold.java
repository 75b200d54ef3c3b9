import java.util.Collection;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.recipes.lock.LockListener;
import org.apache.zookeeper.recipes.lock.WriteLock;

/**
 * ZooKeeper's own recipe. Its lock() is called by its watches too, also after unlock(), when it would
 * queue again; so each hold has an object of its own, closed in the same breath.
 */
final class ApacheHold extends Hold implements LockListener {
    private static final int AGAIN_MS = 20;

    private final WriteLock lock;
    private final Semaphore acquired = new Semaphore(0);

    ApacheHold(ZooKeeper zk, String path) {
        lock = new WriteLock(zk, path, ZooDefs.Ids.OPEN_ACL_UNSAFE, this);
    }

    /** Its watch never fires when the predecessor went before it was set; so it is asked again. */
    @Override
    boolean acquire(boolean wait) throws Exception {
        try {
            boolean mine = lock.lock();
            while (wait && !mine) {
                mine = acquired.tryAcquire(AGAIN_MS, TimeUnit.MILLISECONDS) || lock.lock();
            }
            if (!mine) {
                release();
            }
            return mine;
        } catch (Exception e) {
            release();
            throw e;
        }
    }

    @Override
    public void lockAcquired() {
        acquired.release();
    }

    @Override
    public void lockReleased() {
        // Nobody waits for it.
    }

    @Override
    String node() {
        return lock.getId();
    }

    /** The methods of a WriteLock are synchronized on it. */
    @Override
    void release() {
        synchronized (lock) {
            lock.unlock();
            lock.close();
        }
    }

    @Override
    Collection<String> list() {
        throw new UnsupportedOperationException("a WriteLock lists nobody");
    }
}
