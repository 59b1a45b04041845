# Stand-in for valkey/valkey: Debian's redis-server under the name that the chart calls.
ARG BASE
FROM ${BASE}
RUN apt-get update && apt-get install -y --no-install-recommends redis-server && rm -rf /var/lib/apt/lists/* /usr/local/bin/node \
  && ln -s /usr/bin/redis-server /usr/local/bin/valkey-server && mkdir -p /data && chown 999:999 /data
WORKDIR /data
USER 999
CMD ["valkey-server"]
