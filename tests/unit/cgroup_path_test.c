/* Where our cgroup is, out of what the kernel says of mounts and of us. */
#include "runner.h"
#include "tools/guard/cgroup_path.h"

#include <stdlib.h>

TEST_SUITE(cgroup_path);

#define TMPFS "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
#define V1                                                                                         \
    "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"                         \
    "40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd\n"
#define PURE "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
#define HYBRID                                                                                     \
    TMPFS V1 "41 31 0:38 / /sys/fs/cgroup/unified rw shared:9 master:3 - cgroup2 none rw\n"

static void expect_path(const char *mountinfo, const char *membership, const char *wanted)
{
    char *path = cgroup_path(mountinfo, membership);

    if (wanted)
        CHECK_STR(path ? path : "none", wanted);
    else
        CHECK(!path);
    free(path);
}

TEST_CASE(where_it_is_mounted)
{
    expect_path(PURE, "0::/user.slice/a.scope\n", "/sys/fs/cgroup/user.slice/a.scope");
    expect_path(PURE, "0::/\n", "/sys/fs/cgroup");
    expect_path(HYBRID, "9:name=systemd:/x\n1:cpu:/y\n0::/z\n", "/sys/fs/cgroup/unified/z");
    expect_path(HYBRID, "0::/z (deleted)\n", "/sys/fs/cgroup/unified/z (deleted)");
}

TEST_CASE(where_it_is_not)
{
    expect_path(TMPFS V1, "9:name=systemd:/x\n0::/z\n", NULL);
    expect_path(PURE, "9:name=systemd:/x\n10::/z\n", NULL);
    expect_path(PURE, "", NULL);
    expect_path("", "0::/\n", NULL);
    expect_path("30 23 0:26\n\n30 23 0:26 / - cgroup2 cgroup2 rw\n", "0::/\n", NULL);
    expect_path("30 23 0:26 / /cgroup2 rw - cgroup cgroup2 rw\n", "0::/\n", NULL);
}

/* A part of the hierarchy, and one that is above what our namespace shows. */
TEST_CASE(a_part_is_mounted)
{
#define MOUNT(root) "30 23 0:26 " root " /c rw - cgroup2 cgroup2 rw\n"
    expect_path(MOUNT("/a"), "0::/a/b\n", "/c/b");
    expect_path(MOUNT("/a"), "0::/a\n", "/c");
    expect_path(MOUNT("/a"), "0::/ab\n", NULL);
    expect_path(MOUNT("/a"), "0::/\n", NULL);
    expect_path(MOUNT("/.."), "0::/../b\n", "/c/b");
    expect_path(MOUNT("/.."), "0::/\n", NULL);
    expect_path(MOUNT("/.."), "0::/../../b\n", NULL);
    expect_path(MOUNT("/"), "0::/../..\n", NULL);
    expect_path(MOUNT("/"), "0::/..b\n", "/c/..b");
#undef MOUNT
}

TEST_CASE(special_characters)
{
    expect_path("30 23 0:26 /x\\040y /a\\040b\\134c rw - cgroup2 cgroup2 rw\n", "0::/x y/z w\n",
                "/a b\\c/z w");
}

/* The last one is what a path leads to. */
TEST_CASE(several_mounts)
{
    expect_path(PURE "31 30 0:26 /a /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n", "0::/a/b\n",
                "/sys/fs/cgroup/b");
    expect_path(PURE "31 30 0:26 /c /c rw - cgroup2 cgroup2 rw\n", "0::/a/b\n",
                "/sys/fs/cgroup/a/b");
}

TEST_CASE(names)
{
    static const char *const others[] = {"zkl-1",   "zkl-1-",   "zkl-1-2x", "zkl-01-2",  "zkl--1-2",
                                         "zkl-0-1", "zkl-1--2", "xzkl-1-2", "zkl-1-2-3", ""};
    char name[CGROUP_NAME_MAX];
    pid_t maker = 0;

    cgroup_name(name, 4194304, 15);
    CHECK_STR(name, "zkl-4194304-15");
    CHECK(cgroup_name_parse(name, &maker));
    CHECK_INT(maker, 4194304);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        CHECK(!cgroup_name_parse(others[i], NULL));
}

static void expect_outside(const char *path, const char *wanted)
{
    char *outside = cgroup_path_outside(path);

    CHECK_STR(outside ? outside : "none", wanted);
    free(outside);
}

/* The path is outside of every zkl around us, but not outside of what a command has made. */
TEST_CASE(outside)
{
    expect_outside("/c/a", "none");
    expect_outside("/c/a/zkl-1-0", "/c/a");
    expect_outside("/c/zkl-1-0/zkl-2-0", "/c");
    expect_outside("/c/zkl-1-0/a/zkl-2-0", "/c/zkl-1-0/a");
    expect_outside("/c/zkl-1-0/a", "none");
}
