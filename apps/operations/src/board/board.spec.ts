import { deliveryId } from '@relay/delivery';
import { ProblemError } from '@relay/problem';
import { assertBoardChange, groupOf } from './board.adapter.js';

const id = '11111111-1111-4111-8111-111111111111';
const job = deliveryId({ webhookId: id, envelopeId: id, hash: '0123456789abcdef', series: 1_000, acceptedAt: 1_000 });
const change = (path: string) => () => assertBoardChange('PUT', `/board/api/queues/${path}`, true);

describe('a change on the board', () => {
  it.each(['promote', 'pause', 'resume', `${job}/promote`])('may be deliveries/%s', (path) => {
    expect(change(`deliveries/${path}`)).not.toThrow();
    expect(change(`${groupOf(15, 16)}deliveries/${path}`)).not.toThrow();
  });

  it.each([
    'deliveries/clean/promote',
    'deliveries/%63lean/promote',
    'deliveries/retry/promote',
    `deliveries/${job}/clean`,
    'deliveries/empty',
    'dead-letters/promote',
    'shard-1.dead-letters/promote',
    'shard-1.deliveries/clean/promote',
    'shard-1deliveries/promote',
    'shard-1%2Fx.deliveries/promote',
  ])('may not be %s', (path) => {
    expect(change(path)).toThrow(ProblemError);
  });
});
