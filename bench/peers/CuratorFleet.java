// Curator's clients as one process of a fleet; the protocol is that of bench/fleet_zkl.c. Roles: idle,
// holder, waiter.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.stream.Collectors;
import com.sun.management.OperatingSystemMXBean;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.ExponentialBackoffRetry;

public class CuratorFleet {
    static int lost;
    static final Semaphore granted = new Semaphore(0);

    /** One session. The retries are those of Curator's own first example. */
    static class One {
        final CuratorFramework client;
        long id, connected;

        One(String address, int timeout) throws Exception {
            client = CuratorFrameworkFactory.newClient(address, timeout, timeout,
                    new ExponentialBackoffRetry(1000, 3));
            client.getConnectionStateListenable().addListener((c, state) -> hear(state));
            client.start();
            client.blockUntilConnected();
        }

        void hear(ConnectionState state) {
            try {
                synchronized (granted) {
                    connected = state.isConnected() ? System.nanoTime() : 0;
                    if (!state.isConnected())
                        return;
                    long now = client.getZookeeperClient().getZooKeeper().getSessionId();
                    lost += id != 0 && id != now ? 1 : 0;
                    id = now;
                }
            } catch (Exception e) {
                System.exit(1);
            }
        }

        /** Until it is granted, whatever fails before that. */
        void contend(String path) {
            while (true) {
                try {
                    new InterProcessMutex(client, path).acquire();
                    granted.release();
                    return;
                } catch (Exception e) {
                    continue;
                }
            }
        }
    }

    static void answer(List<One> fleet, long since) {
        synchronized (granted) {
            List<Long> back = fleet.stream().filter(one -> one.connected > since)
                    .map(one -> one.connected - since).sorted().collect(Collectors.toList());
            String counts = back.stream().distinct().map(ns -> "\"" + ns + "\":1")
                    .collect(Collectors.joining(","));
            OperatingSystemMXBean os = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
            System.out.println("{\"connected\":" + back.size() + ",\"lost\":" + lost + ",\"cpu_us\":"
                    + os.getProcessCpuTime() / 1000 + ",\"back\":{" + counts + "},\"longest_ns\":"
                    + (back.isEmpty() ? 0 : back.get(back.size() - 1)) + "}");
        }
    }

    public static void main(String[] args) throws Exception {
        Map<String, String> options = new HashMap<>();
        for (String a : args)
            options.put(a.substring(0, a.indexOf('=')), a.substring(a.indexOf('=') + 1));
        int count = Integer.parseInt(options.get("sessions"));
        int first = Integer.parseInt(options.get("first"));
        String role = options.get("role");
        List<One> fleet = new ArrayList<>();
        for (int i = 0; i < count; i++)
            fleet.add(new One(options.get("address"), Integer.parseInt(options.get("timeout"))));
        int locks = role.equals("idle") ? 0 : Integer.parseInt(options.getOrDefault("locks", "1"));
        for (int i = 0; i < count * locks; i++) {
            One one = fleet.get(i / locks);
            int number = role.equals("holder") ? first * locks + i : first / count;
            Thread t = new Thread(() -> one.contend(options.get("lock") + "-" + number));
            t.setDaemon(true);
            t.start();
        }
        granted.acquire(role.equals("holder") ? count * locks : 0);
        System.out.println("READY");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null;)
            answer(fleet, Long.parseLong(line));
        System.exit(0);
    }
}
