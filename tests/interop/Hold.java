import java.util.Collection;
import org.apache.curator.framework.CuratorFramework;

/** One acquisition of the lock at a path, as one of the libraries here does it. */
abstract class Hold {
    static Hold make(CuratorFramework client, String path, String kind) throws Exception {
        if (kind.equals("apache")) {
            return new ApacheHold(client.getZookeeperClient().getZooKeeper(), path);
        }
        if (kind.startsWith("curator-multi")) {
            return new MultiHold(client, path, kind.equals("curator-multi-reversed"));
        }
        if (kind.startsWith(PermitHold.KIND)) {
            return new PermitHold(client, path, kind);
        }
        return new CuratorHold(client, path, kind);
    }

    /** Without wait: only if nobody is to be waited for, and nothing is left otherwise. */
    abstract boolean acquire(boolean wait) throws Exception;

    /** The own node's path, while holding. */
    abstract String node();

    /** How often it was asked to give way, as far as it listens. */
    int asked() {
        return 0;
    }

    /** By the thread that acquired. */
    abstract void release() throws Exception;

    /** Names of those whom the library takes for contenders, in its order. */
    abstract Collection<String> list() throws Exception;
}
