// Curator's InterProcessMutex in the loop of bench/loop.c; with paths=N its InterProcessMultiLock, with
// shared=1 the readers of its InterProcessReadWriteLock, with permits=N a lease of its
// InterProcessSemaphoreV2. The protocol is that of bench/common.h.
import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.retry.RetryOneTime;

public class Curator {
    interface Locker {
        void acquire() throws Exception;

        void release() throws Exception;
    }

    static Locker of(InterProcessLock lock) {
        return new Locker() {
            public void acquire() throws Exception {
                lock.acquire();
            }

            public void release() throws Exception {
                lock.release();
            }
        };
    }

    static Locker of(InterProcessSemaphoreV2 semaphore) {
        return new Locker() {
            Lease lease;

            public void acquire() throws Exception {
                lease = semaphore.acquire();
            }

            public void release() {
                semaphore.returnLease(lease);
            }
        };
    }

    static long ops, violations, longest;
    static int holders;
    static final TreeMap<Long, Integer> waits = new TreeMap<>();

    static void add(long ns) {
        int shift = ns < 64 ? 0 : 58 - Long.numberOfLeadingZeros(ns);
        waits.merge((ns >> shift) << shift, 1, Integer::sum);
        longest = Math.max(longest, ns);
    }

    static long cpuMicros() {
        OperatingSystemMXBean os = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
        return os.getProcessCpuTime() / 1000;
    }

    /** A byte of the file that nobody else has, as in bench/loop.c. */
    static FileLock enter(FileChannel file) throws Exception {
        for (int place = 0; file != null && place < holders; place++) {
            FileLock inside = file.tryLock(place, 1, false);
            if (inside != null)
                return inside;
        }
        return null;
    }

    static void turn(Locker lock, FileChannel file, boolean stay, long end)
            throws Exception {
        long asked = System.nanoTime();
        lock.acquire();
        long held = System.nanoTime();
        FileLock inside = enter(file);
        if (file != null && inside == null)
            violations++;
        add(held - asked);
        if (held < end)
            ops++;
        if (stay)
            Thread.sleep(1);
        if (inside != null)
            inside.release();
        lock.release();
    }

    static void round(Locker lock, FileChannel file, boolean stay, long window)
            throws Exception {
        ops = violations = longest = 0;
        waits.clear();
        long cpu = cpuMicros(), begin = System.nanoTime();
        while (System.nanoTime() - begin < window)
            turn(lock, file, stay, begin + window);
        double seconds = (System.nanoTime() - begin) * 1e-9;
        String counts = waits.entrySet().stream()
                .map(e -> "\"" + e.getKey() + "\":" + e.getValue())
                .collect(Collectors.joining(","));
        System.out.println("{\"ops\":" + ops + ",\"seconds\":" + seconds + ",\"cpu_us\":"
                + (cpuMicros() - cpu) + ",\"violations\":" + violations + ",\"waits\":{" + counts
                + "},\"longest_ns\":" + longest + "}");
    }

    static Locker open(CuratorFramework client, String path, Map<String, String> options) {
        int count = Integer.parseInt(options.getOrDefault("paths", "1"));
        if (options.containsKey("permits"))
            return of(new InterProcessSemaphoreV2(client, path,
                    Integer.parseInt(options.get("permits"))));
        if (options.containsKey("shared"))
            return of(new InterProcessReadWriteLock(client, path).readLock());
        if (count == 1)
            return of(new InterProcessMutex(client, path));
        List<String> paths = new ArrayList<>();
        for (int i = 0; i < count; i++)
            paths.add(i == 0 ? path : path + "-" + i);
        return of(new InterProcessMultiLock(client, paths));
    }

    public static void main(String[] args) throws Exception {
        Map<String, String> options = new HashMap<>();
        for (String a : args)
            options.put(a.substring(0, a.indexOf('=')), a.substring(a.indexOf('=') + 1));
        CuratorFramework client = CuratorFrameworkFactory.newClient(
                options.get("address"), 30000, 15000, new RetryOneTime(100));
        client.start();
        client.blockUntilConnected();
        Locker lock = open(client, options.get("lock"), options);
        holders = Integer.parseInt(options.getOrDefault("holders", "1"));
        FileChannel file = null;
        if (options.containsKey("inside"))
            file = FileChannel.open(Path.of(options.get("inside")), StandardOpenOption.CREATE,
                    StandardOpenOption.WRITE);
        lock.acquire();
        lock.release();
        System.out.println("READY");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String order; (order = in.readLine()) != null;)
            round(lock, file, order.equals("STAY"), Long.parseLong(options.get("ms")) * 1000000);
        client.close();
    }
}
