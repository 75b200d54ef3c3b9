import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.leader.Participant;

/** A candidate at a LeaderSelector. */
final class Selector extends Candidate {
    private final LeaderSelector selector;
    private final ExecutorService terms = Executors.newSingleThreadExecutor();
    private final Semaphore enough = new Semaphore(0);
    private boolean started;

    Selector(CuratorFramework client, String path, String id, Stamps stamps) {
        super(stamps);
        selector = new LeaderSelector(client, path, terms, new LeaderSelectorListenerAdapter() {
            @Override
            public void takeLeadership(CuratorFramework client) throws InterruptedException {
                beginTerm();
                enough.acquire();
                endTerm();
            }
        });
        selector.setId(id);
    }

    @Override
    void start() throws Exception {
        if (started) {
            queueAgain();
        } else {
            selector.start();
        }
        started = true;
    }

    /** It refuses as long as its last term has not ended altogether. */
    private void queueAgain() throws Exception {
        while (!selector.requeue()) {
            Thread.sleep(1);
        }
    }

    @Override
    void resign() {
        enough.release();
    }

    @Override
    public void end() throws InterruptedException {
        terms.shutdown();
        terms.awaitTermination(Long.MAX_VALUE, TimeUnit.DAYS);
    }

    @Override
    Participant leader() throws Exception {
        return selector.getLeader();
    }

    @Override
    Iterable<Participant> participants() throws Exception {
        return selector.getParticipants();
    }
}
