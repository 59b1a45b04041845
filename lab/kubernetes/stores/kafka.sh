# One of three brokers of a cluster: without a login on 9092, by TLS and SCRAM on 9094. Its number is that of its pod.
set -e
domain=kafka.$NAMESPACE.svc.cluster.local
node=$((${HOSTNAME##*-} + 1))
mkdir -p /data/kafka
cat /tls/tls.key /tls/tls.crt > /tmp/server.pem
cat > /tmp/server.properties <<END
process.roles=broker,controller
node.id=$node
controller.quorum.voters=1@kafka-0.$domain:9093,2@kafka-1.$domain:9093,3@kafka-2.$domain:9093
listeners=PLAINTEXT://:9092,SECURED://:9094,CONTROLLER://:9093
advertised.listeners=PLAINTEXT://$HOSTNAME.$domain:9092,SECURED://$HOSTNAME.$domain:9094
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SECURED:SASL_SSL,CONTROLLER:PLAINTEXT
listener.name.secured.sasl.enabled.mechanisms=SCRAM-SHA-512
listener.name.secured.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.secured.ssl.keystore.type=PEM
listener.name.secured.ssl.keystore.location=/tmp/server.pem
log.dirs=/data/kafka
auto.create.topics.enable=false
default.replication.factor=3
min.insync.replicas=2
offsets.topic.replication.factor=3
offsets.topic.num.partitions=10
transaction.state.log.replication.factor=3
transaction.state.log.min.isr=2
transaction.state.log.num.partitions=2
group.initial.rebalance.delay.ms=0
END
java="java -Xms256m -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:+ExitOnOutOfMemoryError -Dlog4j2.configurationFile=/opt/kafka/log4j2.xml -cp /opt/kafka/libs/*"
set -f
$java kafka.tools.StorageTool format --ignore-formatted -t 5L6g3nShT-eMCtK--X86sw -c /tmp/server.properties \
  --add-scram "SCRAM-SHA-512=[name=relay,password=$KAFKA_PASSWORD]"
exec $java kafka.Kafka /tmp/server.properties
