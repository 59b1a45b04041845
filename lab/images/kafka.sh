# KAFKA_A_B=c of the environment is a.b=c for the broker, as in the official image.
set -e
config=/tmp/server.properties
env | sed -n 's/^KAFKA_\([A-Z0-9_]*\)=/\1=/p' | grep -v '^HEAP_OPTS' | while IFS='=' read -r name value; do
  echo "$(echo "$name" | tr 'A-Z_' 'a-z.')=$value"
done > $config
java="java $KAFKA_HEAP_OPTS -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:+ExitOnOutOfMemoryError -Dlog4j2.configurationFile=/opt/kafka/log4j2.xml -cp /opt/kafka/libs/*"
set -f
$java kafka.tools.StorageTool format --ignore-formatted -t "${CLUSTER_ID:-5L6g3nShT-eMCtK--X86sw}" -c $config
exec $java kafka.Kafka $config
