# Stand-in for apache/kafka: Debian's Java and the jars of Maven Central, started by the same KAFKA_* variables.
ARG BASE
FROM ${BASE}
RUN mkdir -p /usr/share/man/man1 && apt-get update \
  && apt-get install -y --no-install-recommends openjdk-17-jre-headless && rm -rf /var/lib/apt/lists/* /usr/local/bin/node \
  && mkdir -p /var/lib/kafka/data && chown 1000:1000 /var/lib/kafka/data
COPY libs /opt/kafka/libs
COPY log4j2.xml kafka.sh /opt/kafka/
COPY broker-api-versions.sh /opt/kafka/bin/kafka-broker-api-versions.sh
USER 1000
ENTRYPOINT ["/bin/sh", "/opt/kafka/kafka.sh"]
