import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryOneTime;

/**
 * Curator, driven by a test: Peer CONNECT SUBCOMMAND ARG... obeys one command a line on its standard
 * input, and answers each by one line. Ends with its input.
 */
public final class Peer {
    private static final int CONNECT_MS = 60000; // its connection is never cut

    /** What a subcommand makes: the thing that is tested. */
    interface Subject {
        /** Never null; what cannot be done is thrown. */
        String obey(String command) throws Exception;

        /** Returns when nothing of it is under way. */
        void end() throws Exception;
    }

    private static Subject make(CuratorFramework client, String[] args) {
        switch (args[1]) {
        case "locks":
            return new Locks(client);
        case "latch":
            return new Latch(client, args[2], args[3], new Stamps(args[4], args[3]));
        case "selector":
            return new Selector(client, args[2], args[3], new Stamps(args[4], args[3]));
        default:
            throw new IllegalArgumentException("no subcommand " + args[1]);
        }
    }

    private static int sessionMs() {
        return Integer.parseInt(System.getenv().getOrDefault("PEER_SESSION_MS", "4000"));
    }

    private static String answer(Subject subject, String command) {
        try {
            return subject.obey(command);
        } catch (Exception e) {
            return "error: " + e;
        }
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        CuratorFramework client = CuratorFrameworkFactory.newClient(
            args[0], sessionMs(), CONNECT_MS, new RetryOneTime(100));

        client.start();
        Subject subject = make(client, args);
        for (String line; (line = in.readLine()) != null;) {
            System.out.println(answer(subject, line));
            System.out.flush();
        }
        subject.end();
        client.close();
    }
}
