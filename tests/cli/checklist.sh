#!/bin/bash
# The checklist for servers in docs/guide/operations.md: each of its commands shows on a real server what the page says.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
: "${top_srcdir:=$PWD}"
server_options=(--config autopurge.purgeInterval=1 --config autopurge.snapRetainCount=3 --config snapCount=100000 --java -Djute.maxbuffer=2097152)
need_server
begin
server=$(server_pid)
[ -n "$server" ] || {
    skip "the server is not ours"
    finish
}

# What an administrator's machine has: netcat, the servers' own shell, and one server.
mkdir "$scratch/bin"
ln -s "$ZKL" "$scratch/bin/zkl"
cat >"$scratch/bin/nc" <<'NC'
#!/bin/bash
exec 3<>"/dev/tcp/$1/$2"
cat >&3
exec cat <&3
NC
cat >"$scratch/bin/zkCli.sh" <<'CLI'
#!/bin/sh
exec java -Xmx128m -XX:+UseSerialGC -Dorg.slf4j.simpleLogger.defaultLogLevel=error \
    -cp /usr/share/java/zookeeper.jar:/usr/share/java/commons-cli.jar:/usr/share/java/slf4j-simple.jar org.apache.zookeeper.ZooKeeperMain "$@"
CLI
printf '#!/bin/sh\necho %s\n' "$server" >"$scratch/bin/pgrep"
chmod +x "$scratch"/bin/{nc,zkCli.sh,pgrep}
export PATH=$scratch/bin:$PATH

"$ZKL" --auth digest:me:secret --acl auth::cdrwa,world:anyone:r lock --parents=persistent /jobs/nightly true
run zkCli.sh -server "$ZKL_CONNECT" setquota -n 100 /jobs
expect "a quota" 0 "$status"

# What each command shows: its status, and a regular expression.
wanted=(
    '^0:Zookeeper version: [0-9.]+.*Mode: standalone$'
    '^0:tickTime=[0-9]+ maxClientCnxns=0 minSessionTimeout=[0-9]+ maxSessionTimeout=[0-9]+$'
    '^0:zkl: session 0x[0-9a-f]+, timeout [0-9]+ ms$'
    '^0:(zk_[a-z_]+.[0-9]+ ?){4}$'
    '^0:autopurge.purgeInterval=1 autopurge.snapRetainCount=3 snapCount=100000$'
    '^0:-Dzookeeper.forceSync=no -Djute.maxbuffer=2097152$'
    '^77:$'
    "^0:.*'digest,'me:[^ ]+ : cdrwa 'world,'anyone : r\$"
    '^0:jobs$'
    '^0:.*count=100.*count=[0-9]+'
)
number=0
while IFS= read -r command; do
    shown=$command
    command=${command//zk1 2181/${ZKL_CONNECT/:/ }} command=${command//zk1:2181/$ZKL_CONNECT}
    command=${command//\/etc\/zookeeper\/conf\/zoo.cfg/\/proc/$server/cwd/zoo.cfg}
    run bash -c "$command"
    expect_match "$shown" "${wanted[number]-no command more}" "$status:${out//$'\n'/ }"
    number=$((number + 1))
done < <(sed -n '/^### A checklist$/,/^## /s/^    //p' "$top_srcdir/docs/guide/operations.md")
expect "all commands of the page" "${#wanted[@]}" "$number"
finish
