// Curator's InterProcessMutex, with paths=N its InterProcessMultiLock, in the loop of bench/loop.c; the protocol is that of bench/common.h.
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
import org.apache.curator.retry.RetryOneTime;

public class Curator {
    static long ops, violations, longest;
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

    static void turn(InterProcessLock lock, FileChannel file, boolean stay, long end)
            throws Exception {
        long asked = System.nanoTime();
        lock.acquire();
        long held = System.nanoTime();
        FileLock inside = file == null ? null : file.tryLock();
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

    static void round(InterProcessLock lock, FileChannel file, boolean stay, long window)
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

    static InterProcessLock open(CuratorFramework client, String path, int count) {
        List<String> paths = new ArrayList<>();
        for (int i = 0; i < count; i++)
            paths.add(i == 0 ? path : path + "-" + i);
        return count == 1 ? new InterProcessMutex(client, path)
                : new InterProcessMultiLock(client, paths);
    }

    public static void main(String[] args) throws Exception {
        Map<String, String> options = new HashMap<>();
        for (String a : args)
            options.put(a.substring(0, a.indexOf('=')), a.substring(a.indexOf('=') + 1));
        CuratorFramework client = CuratorFrameworkFactory.newClient(
                options.get("address"), 30000, 15000, new RetryOneTime(100));
        client.start();
        client.blockUntilConnected();
        InterProcessLock lock = open(client, options.get("lock"),
                Integer.parseInt(options.getOrDefault("paths", "1")));
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
