import java.util.StringJoiner;
import java.util.concurrent.Semaphore;
import org.apache.curator.framework.recipes.leader.Participant;

/** A candidate campaigns at a path, term by term: start, await, resign, leader, line. */
abstract class Candidate implements Peer.Subject {
    private final Stamps stamps;
    private final Semaphore led = new Semaphore(0);

    Candidate(Stamps stamps) {
        this.stamps = stamps;
    }

    /** Stands in line, or is about to. */
    abstract void start() throws Exception;

    /** Ends the present term, with endTerm() before the next candidate can lead. */
    abstract void resign() throws Exception;

    abstract Participant leader() throws Exception;

    abstract Iterable<Participant> participants() throws Exception;

    /** To be called at once, whether it is expected or not. */
    void beginTerm() {
        stamps.start();
        led.release();
    }

    void endTerm() {
        stamps.end();
    }

    @Override
    public String obey(String command) throws Exception {
        switch (command) {
        case "start":
            start();
            return "ok";
        case "await":
            led.acquire();
            return "leads";
        case "resign":
            resign();
            return "ok";
        case "leader":
            return leader().getId();
        case "line":
            return line();
        default:
            throw new IllegalArgumentException(command);
        }
    }

    /** Ids in order, the leader's marked. */
    private String line() throws Exception {
        StringJoiner ids = new StringJoiner(" ");

        for (Participant p : participants()) {
            ids.add((p.isLeader() ? "*" : "") + p.getId());
        }
        return ids.toString();
    }
}
