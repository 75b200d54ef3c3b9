import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.framework.recipes.leader.Participant;

/** A candidate at a LeaderLatch. */
final class Latch extends Candidate implements LeaderLatchListener {
    private final CuratorFramework client;
    private final String path;
    private final String id;
    private LeaderLatch latch;

    Latch(CuratorFramework client, String path, String id, Stamps stamps) {
        super(stamps);
        this.client = client;
        this.path = path;
        this.id = id;
    }

    /** A closed latch cannot be started again. */
    @Override
    void start() throws Exception {
        latch = new LeaderLatch(client, path, id);
        latch.addListener(this);
        latch.start();
    }

    @Override
    public void isLeader() {
        beginTerm();
    }

    /** Only for a term that it lost: closing is silent. */
    @Override
    public void notLeader() {
        endTerm();
    }

    @Override
    void resign() throws Exception {
        endTerm();
        latch.close();
    }

    @Override
    public void end() {
        // Closing, in resign(), waits.
    }

    @Override
    Participant leader() throws Exception {
        return latch.getLeader();
    }

    @Override
    Iterable<Participant> participants() throws Exception {
        return latch.getParticipants();
    }
}
