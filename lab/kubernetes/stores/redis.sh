# One of two that replicate, by TLS and with logins; the sentinels say which is the primary, and before there are any, the first is.
set -e
domain=$SET.$NAMESPACE.svc.cluster.local
tls="--tls-cert-file /tls/tls.crt --tls-key-file /tls/tls.key --tls-ca-cert-file /tls/ca.crt --tls-auth-clients no --tls-replication yes"
ask() {
  timeout 2 redis-cli -h "sentinel-$1.sentinel.$NAMESPACE.svc.cluster.local" -p 26379 --tls --cacert /tls/ca.crt \
    --no-auth-warning -a "$SENTINEL_PASSWORD" SENTINEL get-master-addr-by-name relay 2>/dev/null | head -n 1 | grep "^$SET-" || true
}
primary=""
for number in 0 1 2; do [ -n "$primary" ] || primary=$(ask $number); done
[ -n "$primary" ] || primary=$SET-0.$domain
mkdir -p /data/redis
[ "$primary" = "$HOSTNAME.$domain" ] || follow="--replicaof $primary 6380"
# shellcheck disable=SC2086
exec redis-server --port 0 --tls-port 6380 $tls --dir /data/redis --replica-announce-ip "$HOSTNAME.$domain" $follow \
  --appendonly yes --appendfsync always --save "" --maxmemory 512mb --maxmemory-policy noeviction \
  --requirepass "$ADMIN_PASSWORD" --masterauth "$ADMIN_PASSWORD" \
  --user relay on ">$REDIS_PASSWORD" "~*" "&*" +@all -@dangerous +info +client +bgrewriteaof
