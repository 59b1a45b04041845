#!/bin/sh
# What docker-compose.yml asks whether the broker answers. The official image's command of that name is in a jar that is not here.
exec java -Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp '/opt/kafka/libs/*' kafka.admin.ConfigCommand "$@" \
  --describe --entity-type brokers --entity-name 1
