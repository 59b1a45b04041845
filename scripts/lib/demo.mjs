// The clients of development, each made once: a partner, a source and an operator, as whom the commands of `npm run relay` ask too.
// demo.env has their credentials as `id:secret`, and the addresses of the relay that npm start runs.
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { readEnv, writeEnv } from './dev-env.mjs';
import { ownerOf } from './owner.mjs';
import { typed } from './paths.mjs';
import { Fault } from './process.mjs';

const OPTIONS = { partner: [], source: [], operator: ['--role', 'admin'] };

export const demoFile = (home) => join(home, 'demo.env');

export async function demoClients(home, url, relay) {
  const clients = {};
  for (const kind of ['partner', 'source', 'operator']) clients[kind] = await demoClient(home, url, kind, relay);
  return clients;
}

/** A client of demo.env, or a new one where there is none or the relay's data no longer knows it. */
export async function demoClient(home, url, kind, relay) {
  const file = demoFile(home);
  const kept = readEnv(file)[kind.toUpperCase()];
  if (kept && (await isKnown(url, loginOf(kept)))) return loginOf(kept);
  const made = JSON.parse(await relay('admin', 'clients', 'create', kind, 'demo', ...OPTIONS[kind], '--json'));
  writeEnv(file, { ...readEnv(file), [kind.toUpperCase()]: `${made.clientId}:${made.clientSecret}` });
  return { clientId: made.clientId, clientSecret: made.clientSecret };
}

/** The addresses and clients of the npm start that runs in this home. @throws Fault if none runs */
export async function demoOf(home) {
  if ((await ownerOf(home))?.url === undefined)
    throw new Fault(`${typed('start')} does not run here, or is still starting: run it in another terminal first`);
  const { RELAY, OPERATIONS, RECEIVER, ...clients } = readEnv(demoFile(home));
  const [partner, source, operator] = ['PARTNER', 'SOURCE', 'OPERATOR'].map((kind) => loginOf(clients[kind] ?? ''));
  return { relay: RELAY, operations: OPERATIONS, receiver: RECEIVER, partner, source, operator };
}

/** A link to the portal as the partner, which can be opened once. @param body what whoever opens it may do, and where it leads */
export async function portalLink(url, partner, body = { access: 'write' }) {
  return (await ask(`${url}/portal/links`, { body, token: await tokenOf(url, partner) })).url;
}

/** A link that signs in to the console as the operator, which can be opened once. */
export const consoleLink = async (operations, operator) =>
  `${operations}/#code=${(await ask(`${operations}/session/links`, { body: operator })).code}`;

export const tokenOf = async (url, login) =>
  (await ask(`${url}/auth/token`, { headers: { authorization: basicOf(login) } })).access_token;

/** Asks the relay and returns the JSON of its answer. @throws Fault in the words of the relay */
export async function ask(url, { method = 'POST', token, headers = {}, body }) {
  const all = {
    ...headers,
    ...(token && { authorization: `Bearer ${token}` }),
    ...(body && { 'content-type': 'application/json' }),
  };
  const answer = await fetch(url, { method, headers: all, body: body && JSON.stringify(body) }).catch(() => {
    throw new Fault(`${url} does not answer`);
  });
  const said = await answer.json();
  if (!answer.ok) throw new Fault(`${method} ${url}: ${answer.status} ${said.detail ?? ''}`);
  return said;
}

const basicOf = ({ clientId, clientSecret }) =>
  `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;

function loginOf(text) {
  const [clientId, clientSecret] = text.split(':');
  return { clientId, clientSecret };
}

/** While no ingress answers, a client that is kept counts as known. */
async function isKnown(url, login) {
  const asked = fetch(`${url}/auth/token`, { method: 'POST', headers: { authorization: basicOf(login) } });
  return (await asked.catch(() => undefined))?.status !== 401;
}

/** Needs nothing but curl, node and a POSIX shell; kcat only for the look into the topic. */
export function demoLines({ relay, receiver, kafka, topic, partner, source }) {
  const task = { id: randomUUID(), userId: randomUUID(), financialPlanId: randomUUID() };
  const envelope = JSON.stringify({ id: randomUUID(), type: 'task.created', payload: task });
  const webhook = JSON.stringify({ eventType: 'task.created', endPointUrl: `${receiver}/hook`, apiKey: 'demo-key' });
  const token = ({ clientId, clientSecret }) =>
    `$(curl -sS -X POST -u '${clientId}:${clientSecret}' ${relay}/auth/token | node -p 'JSON.parse(fs.readFileSync(0)).access_token')`;
  const posted = (path, variable, body) =>
    `curl -sS -X POST ${relay}${path} -H "Authorization: Bearer $${variable}" -H 'Content-Type: application/json' -d '${body}'`;
  return `# the partner's access token, and a webhook for task.created (apiKey demo-key)
PARTNER_TOKEN=${token(partner)}
${posted('/webhooks', 'PARTNER_TOKEN', webhook)}

# the source's access token, and one envelope
SOURCE_TOKEN=${token(source)}
${posted('/deliveries', 'SOURCE_TOKEN', envelope)}

# what the endpoint received (npm start prints it too)
curl -sS ${receiver}/received

# the same bytes in the topic
kcat -q -e -C -b ${kafka} -t ${topic} -o beginning
`;
}
