# One image for every role: docker run partner-relay ingress|worker|operations, partner-relay relay … for the command line.
# By digest, of the index for all platforms: a tag is moved whenever Debian mends something. The newest of this tag says
# `docker buildx imagetools inspect node:24.21.0-bookworm-slim`.
ARG NODE_IMAGE=node:24.21.0-bookworm-slim@sha256:d6aa754f16b3197301076f047b5def2f02ea1dbbc2ca920407d46d7ec7f87b20

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json nest-cli.json .swcrc ./
COPY scripts/*.mjs scripts/
COPY scripts/lib scripts/lib
COPY scripts/image scripts/image
COPY docs/openapi.json docs/operations.openapi.json docs/
COPY docs/operations/runbooks.md docs/operations/
COPY apps apps
COPY libs libs
RUN npm run build
RUN node scripts/image/bundle.mjs bundled

FROM ${NODE_IMAGE} AS packages
WORKDIR /app
COPY package.json package-lock.json scripts/image/prune.mjs ./
# The bill of materials is of the packages that are left. npm misses those for development unless package.json is without them.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
  && node prune.mjs node_modules \
  && npm pkg delete devDependencies scripts allowScripts \
  && npm sbom --sbom-format=cyclonedx --sbom-type=application > sbom.cdx.json

# Debian without what installs or administers it. dpkg keeps its list of packages, which scanners read.
FROM ${NODE_IMAGE} AS system
RUN apt-get update && apt-get install -y --no-install-recommends tini \
  && dpkg --purge --force-depends --force-remove-essential --force-remove-protected \
    apt libapt-pkg6.0 gpgv debian-archive-keyring libgnutls30 libp11-kit0 adduser e2fsprogs libext2fs2 login passwd mount debconf perl-base \
  && rm -rf /usr/local/lib/node_modules /usr/local/include /usr/local/share /usr/local/bin/docker-entrypoint.sh /opt/yarn* \
    /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /usr/local/bin/yarn /usr/local/bin/yarnpkg \
    /usr/lib/*/gconv /var/lib/apt /var/cache/* /var/log/* /var/tmp /run/lock \
  && find / -xdev -type f -perm /6000 -exec chmod a-s {} +

# A copy of the files in one layer: what a later layer deletes still has to be pulled.
FROM scratch AS relay
COPY --from=system / /
# x-release-please-start-version
ARG VERSION=0.1.0
# x-release-please-end
ARG REVISION=unknown
ARG CREATED=unknown
LABEL org.opencontainers.image.title="Partner Relay" \
  org.opencontainers.image.description="Event relay and webhook gateway over Kafka and Redis" \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.revision="${REVISION}" \
  org.opencontainers.image.created="${CREATED}"
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY --from=packages /app/package.json /app/sbom.cdx.json ./
COPY --from=build /app/bundled dist
COPY --chmod=0755 scripts/image/relay /usr/local/bin/relay
COPY scripts/image/role.mjs scripts/image/event-types.mjs scripts/image/smoke-test.mjs scripts/image/healthy.mjs scripts/receiver.mjs ./
# One health port for all roles, which HEALTHCHECK asks.
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin NODE_ENV=production HEALTH_PORT=3200
USER 65532:65532
EXPOSE 3000 3100 3200
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["node", "/app/healthy.mjs"]
# Node as process 1 would neither reap children nor end by a signal that it has no handler for.
ENTRYPOINT ["/usr/bin/tini", "--", "node", "/app/role.mjs"]
CMD ["ingress"]

# What `dev` has beside the roles. Kafka's start is halved by an archive of its classes, which holds for this Java and these files.
FROM ${NODE_IMAGE} AS stores
RUN apt-get update && mkdir -p /usr/share/man/man1 \
  && apt-get install -y --no-install-recommends tini redis-server openjdk-17-jre-headless \
  && rm -rf /var/lib/apt/lists/* /var/cache/* /var/log/*

FROM stores AS kafka
RUN apt-get update && apt-get install -y --no-install-recommends maven
WORKDIR /app
COPY scripts/lib scripts/lib
COPY scripts/kafka scripts/kafka
RUN RELAY_CACHE=/app/cache node --eval 'import("/app/scripts/lib/kafka.mjs").then((kafka) => kafka.prepare())' \
  && chmod -R a+rX cache

# docker build --target dev: all roles, Kafka and Redis in one container, for one developer's machine.
FROM relay AS dev
USER 0:0
COPY --from=stores /etc /etc
COPY --from=stores /usr/bin /usr/bin
COPY --from=stores /usr/lib /usr/lib
COPY --from=stores /var/lib/dpkg /var/lib/dpkg
COPY --from=kafka /app/cache cache
COPY scripts/*.mjs scripts/
COPY scripts/lib scripts/lib
COPY scripts/kafka scripts/kafka
RUN ln -s /app/scripts/dev.mjs /usr/local/bin/partner-relay && mkdir /data && chown 65532:65532 /data
# Endpoints are on the developer's machine. HEALTHCHECK asks the ingress.
ENV NODE_ENV=development RELAY_COMMAND="docker exec CONTAINER partner-relay" RELAY_HOME=/data PORT=3000 OPERATIONS_PORT=3100 INGRESS_HEALTH_PORT=3200 WORKER_HEALTH_PORT=3201 \
  EGRESS_ALLOW_CIDRS=127.0.0.0/8,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16
VOLUME /data
USER 65532:65532
ENTRYPOINT ["/usr/bin/tini", "--", "node", "/app/scripts/dev.mjs"]
CMD ["dev"]

# The image that is built without --target.
FROM relay
