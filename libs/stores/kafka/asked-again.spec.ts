import kafkajs from 'kafkajs';
import { askedAgain } from './kept-admin.adapter.js';

const { KafkaJSNumberOfRetriesExceeded, KafkaJSProtocolError } = kafkajs;
const notLeader = new KafkaJSProtocolError({
  code: 6,
  type: 'NOT_LEADER_FOR_PARTITION',
  retriable: true,
  message: 'This server is not the leader for that topic-partition',
} as never);
const refused = new KafkaJSProtocolError({ code: 29, type: 'TOPIC_AUTHORIZATION_FAILED', retriable: false } as never);
const givenUp = new KafkaJSNumberOfRetriesExceeded(notLeader, { retryCount: 1, retryTime: 1 });

function answering(...answers: readonly (Error | string)[]) {
  const left = [...answers];
  const ask = async (): Promise<string> => {
    const answer = left.shift() ?? 'asked once more';
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return { ask, left };
}

describe('askedAgain', () => {
  it('repeats until there is a leader', async () => {
    await expect(askedAgain(5_000, answering(notLeader, notLeader, 'offsets').ask)).resolves.toBe('offsets');
  });

  it.each([
    ['what the brokers refuse', refused],
    ['what kafkajs has tried often enough', givenUp],
    ['what is no fault of Kafka', new TypeError('left is undefined')],
  ])('is not %s', async (_what, error) => {
    const { ask, left } = answering(error, 'never');
    await expect(askedAgain(5_000, ask)).rejects.toBe(error);
    expect(left).toEqual(['never']);
  });

  it('fails when the time is over', async () => {
    await expect(askedAgain(0, answering(notLeader, notLeader, notLeader).ask)).rejects.toBe(notLeader);
  });
});
