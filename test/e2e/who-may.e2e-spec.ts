import { randomUUID } from 'node:crypto';
import { App } from '../support/app.js';
import { type As, Callers, ROLES } from '../support/callers.js';
import { Relay } from '../support/relay.js';

const PARTNER = ['partner token'];
const WRITERS = [...PARTNER, 'portal write', 'admin portal write'];
const operatorsFrom = (role: (typeof ROLES)[number]): string[] =>
  ROLES.slice(ROLES.indexOf(role)).flatMap((each) => ['secret', 'token', 'session'].map((by) => `${each} ${by}`));

/** Whom a group of operations is for; undefined for everybody. */
const GROUPS: Readonly<Record<string, readonly string[] | undefined>> = {
  everybody: undefined,
  clients: ['partner', 'source', ...ROLES].map((kind) => `${kind} secret`),
  sources: ['source token', 'source key'],
  partners: PARTNER,
  lookers: [...WRITERS, 'portal read', 'portal write of one', 'operator portal read'],
  changers: [...WRITERS, 'portal write of one'],
  adders: WRITERS,
  viewers: operatorsFrom('viewer'),
  operators: operatorsFrom('operator'),
  admins: operatorsFrom('admin'),
};

/** The group of every operation of both documents, and of some of the board. A new one has to be entered here. */
const INGRESS: Readonly<Record<string, string>> = {
  everybody: `readKeys readServerMetadata readAsyncApi readDocs readErrors readEventTypes readHome readOpenApi readPayloadSchema
    readPortal readPortalFile readSchema tradePortalCode`,
  clients: 'issueToken introspectToken revokeToken',
  sources: 'sendEnvelope sendBatch',
  partners: 'createSession readSession endSession listen listWebhooks updateWebhook deleteWebhook createPortalLink',
  lookers: `readWebhook listWebhookStates listDeliveries listAllDeliveries readDeliveries readPayload listReplays readReplay
    listOwnEventTypes readOwnPayloadSchema endPortalToken`,
  changers: `patchWebhook removeWebhook readWebhookSecret rotateWebhookSecret enableWebhook disableWebhook testWebhook replayWebhook
    cancelReplay retryDeliveries retrySelection`,
  adders: 'registerWebhook testDraft',
};
const OPERATIONS: Readonly<Record<string, string>> = {
  everybody: 'readHome readPageFile enterConsole leaveConsole createConsoleLink followConsoleLink',
  viewers: `searchAttempts readAudit listClients readClient listDeadLetters countDeadLetters readFindings readEnvelopeStory readLag readNow
    readOpenApi readQueues listEventTypes readEventType listReplays readReplay readSession listWebhooks readWebhook boardPage boardQueues`,
  operators: `readEnvelope readDeadLetter purgeDeadLetter replayDeadLetter purgeDeadLetters replayDeadLetters createPortalLink
    orderReplay cancelReplay pauseReplay resumeReplay
    disableWebhook enableWebhook boardResume`,
  admins: `createClient changeClient disableClient enableClient rotateClient deleteWebhook addNotices
    putEventType archiveEventType applyEventTypes`,
};
const BOARD: readonly Operation[] = [
  { id: 'boardPage', method: 'GET', path: '/board/', type: undefined },
  { id: 'boardQueues', method: 'GET', path: '/board/api/queues', type: undefined },
  { id: 'boardResume', method: 'PUT', path: '/board/api/queues/deliveries/resume', type: undefined },
];

interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  /** Of its body. */
  readonly type: string | undefined;
}
interface OpenApi {
  readonly paths: Readonly<
    Record<string, Record<string, { operationId: string; requestBody?: { content: Record<string, unknown> } }>>
  >;
}

describe('every operation', () => {
  let relay: Relay;
  let operations: App<'operations'>;
  let callers: Map<string, As>;
  beforeAll(async () => {
    relay = await Relay.start();
    operations = await App.start('operations', { ...relay.stack.env, OPERATIONS_WRITE: 'true' });
    callers = await (await Callers.of(relay, operations)).all();
  });
  afterAll(async () => {
    await operations?.stop();
    await relay?.close();
  });

  async function operationsOf(url: string): Promise<Operation[]> {
    const document = (await (
      await fetch(`${url}/openapi.json`, { headers: callers.get('viewer secret') ?? {} })
    ).json()) as OpenApi;
    return Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId: id, requestBody }]) => {
        // `fetch` sends no body with GET.
        const [type] = method === 'get' ? [] : Object.keys(requestBody?.content ?? {});
        return { id, method: method.toUpperCase(), path, type };
      }),
    );
  }

  /** Whether it is let in to something that is not there, or with a body that says nothing. */
  async function isLetIn(url: string, { method, path, type }: Operation, as: As): Promise<boolean> {
    const asked = path.replaceAll(/\{\w+\}/g, randomUUID());
    const body = type === undefined ? {} : { body: type.endsWith('json') ? '{}' : 'x=1' };
    // No stream begins behind this place.
    const headers = { ...as, ...(type === undefined ? {} : { 'content-type': type }), 'last-event-id': 'x' };
    const answer = await fetch(url + asked, { method, headers, ...body, redirect: 'manual' });
    await answer.text();
    return answer.status !== 401 && answer.status !== 403;
  }

  it.each([
    ['ingress', INGRESS, () => relay.ingress.url, []],
    ['operations app', OPERATIONS, () => operations.url, BOARD],
  ])('in the %s is for those of its group, with each credential, and for nobody else', async (_, table, url, more) => {
    const groupOf = new Map(
      Object.entries(table).flatMap(([group, ids]) => ids.split(/\s+/).map((id) => [id, group] as const)),
    );
    const all = [...(await operationsOf(url())), ...more];
    expect(all.map(({ id }) => id).toSorted()).toEqual([...groupOf.keys()].toSorted());
    // What ends a credential comes last.
    const isLast = ({ id }: Operation): number => Number(id === 'endPortalToken' || id === 'leaveConsole');
    for (const operation of all.toSorted((a, b) => isLast(a) - isLast(b))) {
      const letIn: string[] = [];
      for (const [name, as] of callers) if (await isLetIn(url(), operation, as)) letIn.push(name);
      const group = GROUPS[groupOf.get(operation.id) ?? ''] ?? [...callers.keys()];
      expect([operation.id, letIn.toSorted()]).toEqual([operation.id, group.toSorted()]);
    }
  });
});
