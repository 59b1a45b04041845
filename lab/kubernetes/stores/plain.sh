# Without TLS and logins: a Redis (plain), its sentinels (s), and the nodes of a Redis Cluster (c).
set -e
case $SET in
s)
  cat > /tmp/sentinel.conf <<END
protected-mode no
dir /tmp
sentinel resolve-hostnames yes
sentinel announce-hostnames yes
sentinel monitor relay plain-0.plain.$NAMESPACE.svc.cluster.local 6379 2
END
  exec redis-server /tmp/sentinel.conf --port 26379 --sentinel
  ;;
c) more="--cluster-enabled yes" ;;
esac
mkdir -p /data/redis
# shellcheck disable=SC2086
exec redis-server --protected-mode no --dir /data/redis --appendonly yes --appendfsync always --save "" \
  --maxmemory-policy noeviction $more
