import { FetchSession, type FetchedTopic, type SessionRequest } from './fetch-session.js';

const FETCH_SESSION_ID_NOT_FOUND = 70;
const INVALID_FETCH_SESSION_EPOCH = 71;

const topicOf = (topic: string, offsets: Record<number, number>): FetchedTopic => ({
  topic,
  partitions: Object.entries(offsets).map(([partition, offset]) => ({
    partition: Number(partition),
    fetchOffset: String(offset),
    maxBytes: 1,
  })),
});
const named = ({ topics }: SessionRequest): string[] =>
  topics.flatMap(({ topic, partitions }) =>
    partitions.map(({ partition, fetchOffset }) => `${topic}/${partition}@${fetchOffset}`),
  );
const idOf = ({ sessionId, sessionEpoch }: SessionRequest): [number, number] => [sessionId, sessionEpoch];

describe('a fetch session', () => {
  let session: FetchSession;
  beforeEach(() => {
    session = new FetchSession();
  });
  /** Asks and is answered. */
  const ask = (topics: FetchedTopic[], answer: { errorCode?: number; sessionId?: number } = { sessionId: 7 }) => {
    const request = session.request(topics);
    session.answered(request, answer);
    return request;
  };

  it('begins with all partitions, and then names what is new, has another offset or is to be forgotten', () => {
    const first = ask([topicOf('a', { 0: 5, 1: 5 }), topicOf('b', { 0: 9 })]);
    expect([idOf(first), named(first)]).toEqual([
      [0, 0],
      ['a/0@5', 'a/1@5', 'b/0@9'],
    ]);
    const same = ask([topicOf('a', { 0: 5, 1: 5 }), topicOf('b', { 0: 9 })]);
    expect([idOf(same), named(same), same.forgottenTopics]).toEqual([[7, 1], [], []]);
    const moved = ask([topicOf('a', { 0: 5, 1: 8, 2: 0 })]);
    expect([idOf(moved), named(moved), moved.forgottenTopics]).toEqual([
      [7, 2],
      ['a/1@8', 'a/2@0'],
      [{ topic: 'b', partitions: [0] }],
    ]);
    const back = ask([topicOf('a', { 0: 5, 1: 8 }), topicOf('b', { 0: 9 })]);
    expect([named(back), back.forgottenTopics]).toEqual([['b/0@9'], [{ topic: 'a', partitions: [2] }]]);
  });

  it.each([
    ['the broker does not know the session', FETCH_SESSION_ID_NOT_FOUND],
    ['the broker had another request in between', INVALID_FETCH_SESSION_EPOCH],
  ])('names all partitions again, with the id of the session to close, when %s', (_, errorCode) => {
    ask([topicOf('a', { 0: 5 })]);
    ask([topicOf('a', { 0: 6 })], { errorCode, sessionId: 7 });
    const again = ask([topicOf('a', { 0: 6 })], { sessionId: 8 });
    expect([idOf(again), named(again)]).toEqual([[7, 0], ['a/0@6']]);
    expect(idOf(ask([topicOf('a', { 0: 6 })]))).toEqual([8, 1]);
  });

  it('names all partitions again after a request without an answer', () => {
    ask([topicOf('a', { 0: 5 })]);
    session.failed(session.request([topicOf('a', { 0: 6 })]));
    expect(named(ask([topicOf('a', { 0: 6 })]))).toEqual(['a/0@6']);
  });

  it.each([
    ['has no room for a session', { sessionId: 0 }],
    ['knows no sessions', {}],
  ])('names all partitions each time while the broker %s', (_, answer) => {
    for (let time = 0; time < 3; time += 1) expect(named(ask([topicOf('a', { 0: 5 })], answer))).toEqual(['a/0@5']);
  });

  it('asks without a session while another request is under way, which changes nothing in it', () => {
    ask([topicOf('a', { 0: 5 })]);
    const first = session.request([topicOf('a', { 0: 6 })]);
    const beside = ask([topicOf('a', { 0: 5 })], { sessionId: 0 });
    expect([idOf(beside), named(beside)]).toEqual([[0, -1], ['a/0@5']]);
    session.failed(beside);
    session.answered(first, { sessionId: 7 });
    expect(named(ask([topicOf('a', { 0: 6 })]))).toEqual([]);
  });
});
