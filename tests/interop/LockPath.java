package org.apache.curator.framework.recipes.locks;

/** Lies in Curator's package, where a lock tells its node: the plain one and those of read-write. */
public final class LockPath {
    private LockPath() {
    }

    /** The node by which the calling thread holds the lock; null: it does not. */
    public static String of(InterProcessMutex lock) {
        return lock.getLockPath();
    }
}
