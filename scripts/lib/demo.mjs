// The clients of development, each made once: a partner, a source and an operator, as whom the commands of `npm run relay` ask too.
// The demonstration of npm start is lines to paste that send one envelope through.
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const OPTIONS = { partner: [], source: [], operator: ['--role', 'admin'] };

export async function demoClients(home, url, relay) {
  const clients = {};
  for (const kind of ['partner', 'source', 'operator']) clients[kind] = await demoClient(home, url, kind, relay);
  return clients;
}

/** A client of demo.json, or a new one where there is none or the relay's data no longer knows it. */
export async function demoClient(home, url, kind, relay) {
  const file = join(home, 'demo.json');
  const kept = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
  if (kept[kind] && (await isKnown(url, kept[kind]))) return kept[kind];
  const made = JSON.parse(await relay('admin', 'clients', 'create', kind, 'demo', ...OPTIONS[kind], '--json'));
  writeFileSync(file, `${JSON.stringify({ ...kept, [kind]: made }, null, 2)}\n`, { mode: 0o600 });
  return made;
}

/** A link to the portal as the partner, which can be opened once. @param body what whoever opens it may do, and where it leads */
export async function portalLink(url, { clientId, clientSecret }, body = { access: 'write' }) {
  const authorization = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
  const asked = await fetch(`${url}/auth/token`, { method: 'POST', headers: { authorization } });
  const { access_token: token } = await asked.json();
  const answer = await fetch(`${url}/portal/links`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return (await answer.json()).url;
}

/** While no ingress answers, a client that is kept counts as known. */
async function isKnown(url, { clientId, clientSecret }) {
  const authorization = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
  const asked = fetch(`${url}/auth/token`, { method: 'POST', headers: { authorization } });
  return (await asked.catch(() => undefined))?.status !== 401;
}

/** Needs nothing but curl, node and a POSIX shell; kcat only for the look into the topic. */
export function demoLines({ url, receiver, brokers, topic, clients: { partner, source } }) {
  const task = { id: randomUUID(), userId: randomUUID(), financialPlanId: randomUUID() };
  const envelope = JSON.stringify({ id: randomUUID(), type: 'task.created', payload: task });
  const webhook = JSON.stringify({ eventType: 'task.created', endPointUrl: `${receiver}/hook`, apiKey: 'demo-key' });
  const token = ({ clientId, clientSecret }) =>
    `$(curl -sS -X POST -u '${clientId}:${clientSecret}' ${url}/auth/token | node -p 'JSON.parse(fs.readFileSync(0)).access_token')`;
  const post = (path, variable, body) =>
    `curl -sS -X POST ${url}${path} -H "Authorization: Bearer $${variable}" -H 'Content-Type: application/json' -d '${body}'`;
  return `# the partner's access token, and a webhook for task.created (apiKey demo-key)
PARTNER_TOKEN=${token(partner)}
${post('/webhooks', 'PARTNER_TOKEN', webhook)}

# the source's access token, and one envelope
SOURCE_TOKEN=${token(source)}
${post('/deliveries', 'SOURCE_TOKEN', envelope)}

# what the endpoint received (also printed here)
curl -sS ${receiver}/received

# the same bytes in the topic
kcat -q -e -C -b ${brokers} -t ${topic} -o beginning`;
}
