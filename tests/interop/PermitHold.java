import java.util.Collection;
import java.util.Collections;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;

/**
 * Permits of Curator's semaphore. Its kind ends in the limit that it goes by, and in xN if it takes
 * so many at once.
 */
final class PermitHold extends Hold {
    static final String KIND = "curator-permit";

    private final InterProcessSemaphoreV2 semaphore;
    private final String leases;
    private final int permits;
    private Collection<Lease> held;

    PermitHold(CuratorFramework client, String path, String kind) {
        String[] numbers = kind.substring(KIND.length()).split("x");

        permits = numbers.length > 1 ? Integer.parseInt(numbers[1]) : 1;
        semaphore = new InterProcessSemaphoreV2(client, path, Integer.parseInt(numbers[0]));
        leases = path + "/leases/";
    }

    private Collection<Lease> take(boolean wait) throws Exception {
        if (permits > 1) {
            return wait ? semaphore.acquire(permits)
                        : semaphore.acquire(permits, 0, TimeUnit.MILLISECONDS);
        }
        Lease lease = wait ? semaphore.acquire() : semaphore.acquire(0, TimeUnit.MILLISECONDS);
        return lease == null ? null : Collections.singleton(lease);
    }

    @Override
    boolean acquire(boolean wait) throws Exception {
        held = take(wait);
        return held != null;
    }

    @Override
    String node() {
        return leases + held.iterator().next().getNodeName();
    }

    @Override
    void release() throws Exception {
        semaphore.returnAll(held);
    }

    @Override
    Collection<String> list() throws Exception {
        return semaphore.getParticipantNodes();
    }
}
