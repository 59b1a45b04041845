# Stand-in for valkey/valkey and redis: Debian's redis-server, also under the name that the chart calls. The official image of Redis
# takes connections from outside the container without a password; Debian's server only when told so.
ARG BASE
FROM ${BASE}
RUN apt-get update && apt-get install -y --no-install-recommends redis-server && rm -rf /var/lib/apt/lists/* /usr/local/bin/node \
  && ln -s /usr/bin/redis-server /usr/local/bin/valkey-server \
  && printf '#!/bin/sh\nexec /usr/bin/redis-server "$@" --protected-mode no\n' > /usr/local/bin/redis-server && chmod +x /usr/local/bin/redis-server \
  && mkdir -p /data && chown 999:999 /data
WORKDIR /data
USER 999
CMD ["valkey-server"]
