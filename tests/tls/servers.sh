# Sourced by the tests of TLS and SASL: certificates, and ZooKeeper servers of our own that want them.
# shellcheck shell=bash disable=SC2154

# With all of Netty, which its TLS needs and the package of the server does not name.
classes=$(printf '%s:' /usr/share/java/{zookeeper,slf4j-simple}.jar /usr/share/java/netty-{buffer,codec,common,handler,resolver,transport,tcnative,transport-native-epoll,transport-native-unix-common}.jar)
servers=() # their processes

# A certificate authority NAME.
authority() { # NAME
    openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj "/CN=$1" -keyout "$scratch/$1.key" \
        -out "$scratch/$1.pem" 2>>"$scratch/openssl.log"
}

# NAME.pem and NAME.key, and both in NAME.both.pem as the server wants them; "DAYS" may be over.
certificate() { # NAME AUTHORITY SUBJECT-ALTERNATIVE-NAME [DAYS]
    openssl req -newkey rsa:2048 -nodes -subj "/CN=$1" -keyout "$scratch/$1.key" -out "$scratch/$1.csr" 2>>"$scratch/openssl.log" &&
        openssl x509 -req -in "$scratch/$1.csr" -CA "$scratch/$2.pem" -CAkey "$scratch/$2.key" -CAcreateserial \
            -days "${4:-30}" -extfile <(echo "subjectAltName=$3") -out "$scratch/$1.pem" 2>>"$scratch/openssl.log" &&
        cat "$scratch/$1.key" "$scratch/$1.pem" >"$scratch/$1.both.pem"
}

# A port that stays ours, $port, for a server that sets SO_REUSEADDR: as in tests/support/ports.h.
hold_port() {
    rm -f "$scratch/port.held"
    python3 -c 'import signal, socket
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
signal.pause()' >"$scratch/port.held" &
    remember $!
    disown $!
    wait_until "a port is ours" test -s "$scratch/port.held"
    port=$(<"$scratch/port.held")
}

# Its plain port is in ${NAME}_plain, that of TLS in ${NAME}_secure.
start_server() { # NAME CERTIFICATE [JAVA-OPTION...]
    local name=$1 certificate=$2 port plain folder=$scratch/server-$1
    shift 2
    hold_port
    plain=$port
    hold_port
    mkdir -p "$folder"
    cat >"$folder/zoo.cfg" <<CONFIG
dataDir=$folder/data
clientPort=$plain
clientPortAddress=127.0.0.1
secureClientPort=$port
secureClientPortAddress=127.0.0.1
serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory
ssl.keyStore.location=$scratch/$certificate.both.pem
ssl.trustStore.location=$scratch/ca.pem
ssl.clientAuth=need
authProvider.x509=org.apache.zookeeper.server.auth.X509AuthenticationProvider
authProvider.sasl=org.apache.zookeeper.server.auth.SASLAuthenticationProvider
tickTime=500
maxSessionTimeout=60000
admin.enableServer=false
4lw.commands.whitelist=*
CONFIG
    (cd "$folder" && exec java -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dzookeeper.forceSync=no \
        -Dzookeeper.jmx.log4j.disable=true -Dorg.slf4j.simpleLogger.defaultLogLevel=warn "$@" \
        -cp "$classes" \
        org.apache.zookeeper.server.quorum.QuorumPeerMain zoo.cfg) >"$folder/log" 2>&1 &
    remember $!
    servers+=("$!")
    printf -v "${name}_plain" '127.0.0.1:%s' "$plain"
    printf -v "${name}_secure" '127.0.0.1:%s' "$port"
}

# A first handshake takes Java seconds on a busy machine.
# shellcheck disable=SC2317
speaks_tls() { # HOST:PORT
    [[ $(openssl s_client -connect "$1" -cert "$scratch/me.pem" -key "$scratch/me.key" </dev/null 2>/dev/null) = *"BEGIN CERT"* ]]
}

# shellcheck disable=SC2317
serves() { # HOST:PORT
    [[ $("$ZKL" --connect "$1" --connect-timeout 1 ls --children / 2>/dev/null) = *zookeeper* ]]
}
