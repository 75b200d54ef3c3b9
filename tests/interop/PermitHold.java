import java.util.Collection;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;

/** A permit of Curator's semaphore; its kind ends in the limit that it goes by. */
final class PermitHold extends Hold {
    static final String KIND = "curator-permit";

    private final InterProcessSemaphoreV2 semaphore;
    private final String leases;
    private Lease lease;

    PermitHold(CuratorFramework client, String path, String kind) {
        int limit = Integer.parseInt(kind.substring(KIND.length()));

        semaphore = new InterProcessSemaphoreV2(client, path, limit);
        leases = path + "/leases/";
    }

    @Override
    boolean acquire(boolean wait) throws Exception {
        lease = wait ? semaphore.acquire() : semaphore.acquire(0, TimeUnit.MILLISECONDS);
        return lease != null;
    }

    @Override
    String node() {
        return leases + lease.getNodeName();
    }

    @Override
    void release() throws Exception {
        lease.close();
    }

    @Override
    Collection<String> list() throws Exception {
        return semaphore.getParticipantNodes();
    }
}
