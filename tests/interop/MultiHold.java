import java.util.Arrays;
import java.util.Collection;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;

/** Curator's lock of several, at PATH and PATH-and, in that order or the other way round. */
final class MultiHold extends LockHold {
    MultiHold(CuratorFramework client, String path, boolean reversed) {
        this(new InterProcessMutex(client, path), new InterProcessMutex(client, path + "-and"),
                reversed);
    }

    private MultiHold(InterProcessMutex first, InterProcessMutex second, boolean reversed) {
        super(new InterProcessMultiLock(
                reversed ? Arrays.asList(second, first) : Arrays.asList(first, second)), first);
    }

    @Override
    Collection<String> list() throws Exception {
        return mutex.getParticipantNodes();
    }
}
