# One image for every role: docker run partner-relay ingress|worker|operations, partner-relay relay … for the command line.
# By digest, of the index for all platforms: a tag is moved whenever Debian mends something. The newest of this tag says
# `docker buildx imagetools inspect node:24.21.0-bookworm-slim`.
ARG NODE_IMAGE=node:24.21.0-bookworm-slim@sha256:d6aa754f16b3197301076f047b5def2f02ea1dbbc2ca920407d46d7ec7f87b20

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json nest-cli.json .swcrc ./
COPY scripts/client-api.mjs scripts/client-api.mjs
COPY scripts/lib scripts/lib
COPY docs/openapi.json docs/openapi.json
COPY apps apps
COPY libs libs
RUN npm run build

FROM ${NODE_IMAGE} AS packages
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
  && npm run -s sbom > sbom.cdx.json

FROM ${NODE_IMAGE}
ARG VERSION=0.1.0
ARG REVISION=unknown
ARG CREATED=unknown
LABEL org.opencontainers.image.title="Partner Relay" \
  org.opencontainers.image.description="Event relay and webhook gateway over Kafka and Redis" \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.revision="${REVISION}" \
  org.opencontainers.image.created="${CREATED}"
# Node as process 1 would neither reap children nor end by a signal that it has no handler for.
RUN apt-get update && apt-get install -y --no-install-recommends tini && rm -rf /var/lib/apt/lists/* \
  && rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /opt/yarn*
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY --from=packages /app/package.json /app/sbom.cdx.json ./
COPY --from=build /app/dist dist
COPY --chmod=0755 scripts/image/relay /usr/local/bin/relay
COPY scripts/image/role.mjs scripts/image/smoke-test.mjs scripts/image/healthy.mjs scripts/receiver.mjs ./
# One health port for all roles, which HEALTHCHECK asks.
ENV NODE_ENV=production HEALTH_PORT=3200
USER 65532:65532
EXPOSE 3000 3100 3200
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["node", "/app/healthy.mjs"]
ENTRYPOINT ["/usr/bin/tini", "--", "node", "/app/role.mjs"]
CMD ["ingress"]
