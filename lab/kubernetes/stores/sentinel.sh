# One of three sentinels.
set -e
cat > /tmp/sentinel.conf <<END
port 0
tls-port 26379
tls-cert-file /tls/tls.crt
tls-key-file /tls/tls.key
tls-ca-cert-file /tls/ca.crt
tls-auth-clients no
tls-replication yes
dir /tmp
requirepass $SENTINEL_PASSWORD
sentinel sentinel-pass $SENTINEL_PASSWORD
sentinel resolve-hostnames yes
sentinel announce-hostnames yes
sentinel announce-ip $HOSTNAME.sentinel.$NAMESPACE.svc.cluster.local
sentinel monitor relay redis-0.redis.$NAMESPACE.svc.cluster.local 6380 2
sentinel auth-pass relay $ADMIN_PASSWORD
sentinel down-after-milliseconds relay 3000
sentinel failover-timeout relay 10000
END
exec redis-server /tmp/sentinel.conf --sentinel
