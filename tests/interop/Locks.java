import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.Revoker;

/** Takes locks by Curator's recipes and by ZooKeeper's own: see peers.sh for the commands. */
final class Locks implements Peer.Subject {
    private final CuratorFramework client;
    private final Shared shared;
    private Hold held;
    private Contend contend;

    Locks(CuratorFramework client) {
        this.client = client;
        shared = new Shared(client);
    }

    @Override
    public String obey(String command) throws Exception {
        String[] words = command.split(" ");

        switch (words[0]) {
        case "hold":
        case "try":
            return take(Hold.make(client, words[1], words[2]), words[0].equals("hold"));
        case "release":
            held.release();
            return "ok";
        case "list":
            return "ok " + String.join(" ", Hold.make(client, words[1], words[2]).list());
        case "contend":
            contend = new Contend(client, command.substring("contend ".length()).split(" "));
            contend.start();
            return "ok";
        case "join":
        case "stop":
            return contend.result(words[0].equals("stop"));
        case "revoke":
            Revoker.attemptRevoke(client, words[1]);
            return "ok";
        case "asked":
            return "ok " + held.asked();
        case "now":
            return "ok " + System.nanoTime();
        default:
            String answer = shared.obey(words);
            if (answer == null) {
                throw new IllegalArgumentException(command);
            }
            return answer;
        }
    }

    private String take(Hold hold, boolean wait) throws Exception {
        if (!hold.acquire(wait)) {
            return "busy";
        }
        held = hold;
        return "ok " + client.checkExists().forPath(hold.node()).getCzxid() + " " + hold.node();
    }

    @Override
    public void end() {
        // What is held ends with the session.
    }
}
