// README.md of the chart: its introduction, and a row for each value from the comments of values.yaml.

const HEAD = `# Chart partner-relay

Install the ingress, worker and operations of Partner Relay in Kubernetes, with your Kafka and Redis. To try the relay without them, add
\`-f values-small.yaml\`, which brings Kafka, Valkey and the keys ([Try it in a cluster](../../docs/operations/install.md#try-it-in-a-cluster)).

1. Make the [keys](../../docs/operations/install.md#start).
2. Make a Secret of the keys, and one of the address of Redis with its password:

   \`\`\`sh
   kubectl create namespace relay
   kubectl -n relay create secret generic relay-keys --from-literal=ENCRYPTION_KEYS="k1:…" --from-literal=JWT_PRIVATE_KEYS="k1:…"
   kubectl -n relay create secret generic relay-redis --from-literal=url="rediss://user:password@redis:6380"
   \`\`\`

3. Install the chart. \`image.repository\` is where you pushed the image of the Dockerfile.

   \`\`\`sh
   helm install relay charts/partner-relay -n relay --set image.repository=registry.example/partner-relay \\
     --set existingSecret=relay-keys --set redis.existingSecret=relay-redis \\
     --set-json 'kafka.brokers=["kafka:9092"]' --set config.PUBLIC_URL=https://relay.example
   \`\`\`

4. Test it with \`helm test relay -n relay --logs\`. Outside development the test needs \`config.PUBLIC_URL\`, an address that the workers reach, or
   \`tests.endpointUrl\`. Its pod stays until the next test, also after \`helm uninstall\`.

[Install](../../docs/operations/install.md) has the next steps, and [Upgrade](../../docs/operations/upgrade.md) those of a new version.

- Running pods do not see a changed Secret: restart them with \`kubectl -n relay rollout restart\`.
- \`values.schema.json\` refuses unknown values.
- The chart sets these settings from its other values, so leave them out of \`config\`: \`KAFKA_BROKERS\`, \`KAFKA_SSL…\`,
  \`KAFKA_SASL_…\`, \`REDIS_URL\`, \`REDIS_SENTINELS\`, \`REDIS_SENTINEL_NAME\`, \`REDIS_CLUSTER_NODES\`, \`REDIS_SHARDS\`, \`PORT\`,
  \`OPERATIONS_PORT\`, \`HEALTH_PORT\`, \`SEARCH_INDEX\` and \`NODE_EXTRA_CA_CERTS\`. With \`stores\` or \`development\` it also sets
  \`RELAY_ENV\` and \`KAFKA_TOPIC_REPLICATION\`, and with \`development\` also \`EGRESS_ALLOW_HTTP\` and \`EGRESS_ALLOW_CIDRS\`.
- \`npm run check:chart\` renders the value files of \`ci/\`, validates them for two versions of Kubernetes and checks every pod against the
  restricted profile. It installs the chart in no cluster.

## Values

Written from the comments of values.yaml by \`npx node scripts/docs.mjs\`.
`;

/** @throws Error naming a value that no comment explains */
export function chartReadme(values) {
  const rows = [];
  const path = []; // { indent, key }
  let meaning = '';
  for (const line of values.split('\n')) {
    const comment = /^\s*# -- (.*)$/.exec(line);
    if (comment) meaning = comment[1];
    const entry = /^( *)([A-Za-z]\w*):(?: (.*))?$/.exec(line);
    if (!entry) continue;
    const [, spaces, key, value] = entry;
    while (path.length > 0 && path.at(-1).indent >= spaces.length) path.pop();
    path.push({ indent: spaces.length, key });
    const name = path.map((part) => part.key).join('.');
    if (value === undefined && !meaning) continue; // a group
    if (!meaning) throw new Error(`values.yaml does not say what ${name} is`);
    rows.push([
      `\`${name}\``,
      value === undefined ? 'see values.yaml' : `\`${value.replaceAll('|', '\\|')}\``,
      meaning,
    ]);
    meaning = '';
  }
  return `${HEAD}\n${table([['value', 'default', 'meaning'], ...rows])}\n`;
}

function table([head, ...rows]) {
  const widths = head.map((_, at) => Math.max(3, ...[head, ...rows].map((row) => row[at].length)));
  const line = (cells) => `| ${widths.map((width, at) => cells[at].padEnd(width)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}
