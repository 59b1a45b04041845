import { randomUUID } from 'node:crypto';
import { anEnvelope, type Client } from '../../support/client.js';
import { postMany } from '../../support/post-many.js';
import { until } from '../../support/until.js';
import { IS_FULL, size, type Arena, type Attack } from '../arena.js';
import { statuses } from '../caller.js';
import { MIB, peakOf, rssOf } from '../figures.js';
import { Listening, streamFigure } from '../listening.js';
import type { Verdict } from '../verdict.js';

/** Types that no bystander sends, one for each attack that sends any. */
const [LARGE, MANY] = ['recommendation.created', 'recommendation.deleted'];
/** What LISTEN_STREAMS allows, what a partner may have, and the openings of a minute. */
const [STREAMS, OF_PARTNER, OPENINGS] = [50, 2, 20];
const AT_ONCE = size(400, 60);
const DROPPERS = size(20, 4);
const UNREAD_ENVELOPES = size(200, 20);
const UNREAD_BYTES = 200_000;
const RETURNING = size(STREAMS / OF_PARTNER, 4);
const MISSED = size(9_000, 1_000);
const FORGED = size(500, 100);

const partnersOf = (arena: Arena, count: number, name: string): Promise<Client[]> =>
  Promise.all(Array.from({ length: count }, (_, n) => arena.client('partner', `${name} ${n}`)));

/** An earlier attack's streams may still be ending. */
const noneIsOpen = (arena: Arena): Promise<unknown> =>
  until('no stream is open', async () => (await streamFigure(arena, 'relay_listen_streams')) === 0);

/** Opens as many as the process takes. */
const fill = async (arena: Arena, partners: readonly Client[], isRead: boolean, type: string): Promise<Listening[]> => {
  const opened = partners.flatMap((partner) =>
    Array.from({ length: OF_PARTNER }, () => Listening.open(arena, partner, { type, isRead })),
  );
  return Promise.all(opened);
};

const refusedWithTime = (streams: readonly Listening[], status: number): number =>
  streams.filter((stream) => stream.status === status && Number(stream.retryAfter) > 0).length;

const atOnce: Attack = {
  name: `a partner opens ${AT_ONCE} streams at once`,
  run: async (arena, verdict) => {
    const partner = await arena.client('partner', 'everywhere');
    const token = await partner.token();
    const streams = await Promise.all(
      Array.from({ length: AT_ONCE }, () => Listening.by(arena.ingress.url, token, {})),
    );
    verdict.tell('answers', statuses(streams));
    verdict.atLeast('refused, and told when to come back', refusedWithTime(streams, 429), AT_ONCE - OPENINGS);
    const opened = streams.filter(({ status }) => status === 200);
    const open = (): Listening[] => opened.filter(({ isOver }) => !isOver);
    await until('the others are over', () => open().length <= OF_PARTNER).catch(() => undefined);
    verdict.atMost('open in the end', open().length, OF_PARTNER);
    verdict.none(
      'ended without being told why',
      opened.filter(({ isOver, reason }) => isOver && reason !== 'replaced').map(({ reason }) => `"${reason}"`),
    );
    for (const stream of streams) stream.leave();
  },
};

const unread: Attack = {
  name: `as many streams as a process takes read nothing of ${UNREAD_ENVELOPES} envelopes of ${UNREAD_BYTES} bytes`,
  run: async (arena, verdict) => {
    await noneIsOpen(arena);
    const source = await arena.client('source', 'large');
    const [late, reading, ...partners] = await partnersOf(arena, STREAMS / OF_PARTNER + 1, 'deaf');
    const before = rssOf(arena.ingress.pid);
    const ear = await Listening.open(arena, reading as Client, { type: LARGE });
    const streams = await fill(arena, partners, false, LARGE);
    const last = await Listening.open(arena, reading as Client, { type: LARGE, isRead: false });
    verdict.tell('answers', statuses([ear, last, ...streams]));
    const refused = [await Listening.open(arena, late as Client), await Listening.open(arena, late as Client)];
    verdict.atLeast('of another partner, refused for want of room', refusedWithTime(refused, 503), 2);
    const payload = { id: randomUUID(), text: 'x'.repeat(UNREAD_BYTES) };
    for (let sent = 0; sent < UNREAD_ENVELOPES; sent += 1) {
      const { status } = await source.post(anEnvelope({ type: LARGE, payload }));
      if (status !== 202) verdict.none('envelopes refused', [String(status)]);
    }
    await until('who reads has all', () => ear.heard.length >= UNREAD_ENVELOPES).catch(() => undefined);
    verdict.atLeast('heard by who reads', ear.heard.length, UNREAD_ENVELOPES);
    verdict.atMost('MiB that the streams took', (peakOf(arena.ingress.pid) - before) / MIB, 128);
    const stillOpen = (): Promise<number> => streamFigure(arena, 'relay_listen_streams');
    // Who stays and reads nothing is cut after 30 s.
    if (!IS_FULL) for (const stream of [last, ...streams]) stream.leave();
    await until('the others are cut', async () => (await stillOpen()) <= 1, { withinMs: 60_000 }).catch(
      () => undefined,
    );
    verdict.atMost('streams open in the end', await stillOpen(), 1);
    for (const stream of [ear, last, ...streams, ...refused]) stream.leave();
  },
};

const dropped: Attack = {
  name: `${DROPPERS} partners open streams in a loop, and leave each at once`,
  run: async (arena, verdict) => {
    await noneIsOpen(arena);
    const partners = await partnersOf(arena, DROPPERS, 'leaving');
    const before = arena.kafkaConnections();
    const streams: Listening[] = [];
    for (let turn = 0; turn < OPENINGS + 2; turn += 1) {
      for (const partner of partners) {
        const stream = await Listening.open(arena, partner, { isRead: turn % 2 === 0 });
        stream.leave();
        streams.push(stream);
      }
      // Each turn finds a process without a stream.
      await noneIsOpen(arena).catch(() => undefined);
    }
    verdict.tell('answers', statuses(streams));
    verdict.atLeast('refused, and told when to come back', refusedWithTime(streams, 429), DROPPERS * 2);
    verdict.atMost('connections to Kafka that they made', arena.kafkaConnections() - before, 6);
    verdict.atMost('streams open in the end', await streamFigure(arena, 'relay_listen_streams'), 0);
  },
};

/** What is almost the place of a stream: another partner's, one with a changed character, one cut short, and noise. */
function* forgeries(own: string, foreign: string): Generator<string> {
  for (;;) {
    yield foreign;
    // Neither the whole place nor nothing of it; the last character has bits that no byte of the place has.
    const at = 1 + Math.floor(Math.random() * (own.length - 2));
    yield `${own.slice(0, at)}${own[at] === 'A' ? 'B' : 'A'}${own.slice(at + 1)}`;
    yield own.slice(0, at);
    yield Buffer.from(randomUUID()).toString('base64url').repeat(100);
  }
}

async function forge(
  arena: Arena,
  verdict: Verdict,
  own: Listening,
  [partner, other]: [Client, Client],
): Promise<void> {
  const foreign = await Listening.open(arena, other);
  await until('a place is told', () => foreign.place !== '');
  foreign.leave();
  const places = forgeries(own.place, foreign.place);
  const streams: Listening[] = [];
  for (let n = 0; n < FORGED; n += 1)
    streams.push(await Listening.open(arena, partner, { place: String(places.next().value), isRead: false }));
  verdict.tell('answers to forged places', statuses(streams));
  verdict.none(
    'forged places that were taken',
    streams.flatMap(({ status }) => (status === 400 ? [] : [`${status}`])),
  );
}

const returning: Attack = {
  name: `${RETURNING} partners come back with places of ${MISSED} envelopes ago on all their streams, and with forged ones`,
  run: async (arena, verdict) => {
    await noneIsOpen(arena);
    const source = await arena.client('source', 'many');
    const partners = await partnersOf(arena, RETURNING, 'returning');
    const places = await Promise.all(partners.map((partner) => Listening.open(arena, partner, { type: MANY })));
    await until('each was told a place', () => places.every(({ place }) => place !== ''));
    for (const stream of places) stream.leave();
    await forge(arena, verdict, places[0] as Listening, [partners[0], partners[1]] as [Client, Client]);
    const posted = await postMany(source, MISSED, MANY);
    const since = performance.now();
    const opened = partners.flatMap((partner, n) =>
      Array.from({ length: OF_PARTNER }, () =>
        Listening.open(arena, partner, { type: MANY, place: places[n]?.place ?? '' }),
      ),
    );
    const streams = await Promise.all(opened);
    verdict.tell('answers to old places', statuses(streams));
    const areDone = (): boolean => streams.every(({ heard, isOver }) => isOver || heard.length >= MISSED);
    await until('each has what it missed', areDone, { withinMs: 120_000 }).catch(() => undefined);
    verdict.tell('seconds until all had all', (performance.now() - since) / 1_000);
    const wrong = streams.filter(({ heard }) => heard.length !== posted.size || new Set(heard).size !== posted.size);
    verdict.none(
      'streams that lack or repeat any',
      wrong.map(({ heard }) => `${heard.length} of ${posted.size}`),
    );
    for (const stream of streams) stream.leave();
  },
};

export const streams: readonly Attack[] = [atOnce, dropped, returning, unread];
