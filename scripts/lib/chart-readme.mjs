// README.md of the chart: its introduction, and a row for each value from the comments of values.yaml.

const HEAD = `# Chart partner-relay

Deploys ingress, worker and operations of Partner Relay. To try it with nothing at hand, \`-f values-small.yaml\` brings Kafka, Valkey and
the keys with it ([Try it in a cluster](../../docs/operations/install.md#try-it-in-a-cluster)). In production name your Kafka and Redis,
and make the keys: first put \`ENCRYPTION_KEYS\` and \`JWT_PRIVATE_KEYS\` (docs/operations/install.md says how to make them) into one Secret, and
the address of Redis with its password into another. \`image.repository\` is where you pushed the image of the Dockerfile.

\`\`\`sh
kubectl create secret generic relay-keys --from-literal=ENCRYPTION_KEYS="k1:…" --from-literal=JWT_PRIVATE_KEYS="k1:…"
kubectl create secret generic relay-redis --from-literal=url="rediss://user:password@redis:6380"
helm install relay charts/partner-relay --set image.repository=registry.example/partner-relay \\
  --set existingSecret=relay-keys --set redis.existingSecret=relay-redis \\
  --set-json 'kafka.brokers=["kafka:9092"]' --set config.PUBLIC_URL=https://relay.example
\`\`\`

Running pods do not see a changed Secret: \`kubectl rollout restart\` them. \`values.schema.json\` refuses unknown values.
\`npm run check:chart\` renders the value files of \`ci/\`, validates them for two versions of Kubernetes and checks every pod against
the restricted profile; it installs the chart in no cluster. Outside development \`helm test\` needs \`config.PUBLIC_URL\`, an
address that the workers reach, or \`tests.endpointUrl\`; \`--logs\` prints what it did. Its pod stays until the next test, also after
\`helm uninstall\`.

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
